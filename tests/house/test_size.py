"""Files stay under 400 lines, functions under 60: a number that a test holds works, a wish does not."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, Module, modules, python_files

FILE_LINES = 400
FUNCTION_LINES = 60

# Declared tables: data that happens to be Python, where a longer file is still read in one glance.
TABLES: frozenset[str] = frozenset()


def test_no_code_file_is_longer_than_400_lines() -> None:
    too_long = {str(path): lines for path, lines in _file_lengths() if lines > FILE_LINES and str(path) not in TABLES}
    assert too_long == {}


def test_the_list_of_tables_names_only_long_files_that_exist() -> None:
    lengths = {str(path): lines for path, lines in _file_lengths()}
    assert {name for name in TABLES if lengths.get(name, 0) <= FILE_LINES} == set()


def test_no_function_is_longer_than_60_lines() -> None:
    too_long = {
        f"{module.path}::{function.name}": lines
        for module in modules()
        for function, lines in function_lengths(module)
        if lines > FUNCTION_LINES
    }
    assert too_long == {}


def test_a_function_is_measured_from_its_name_to_its_end() -> None:
    source = "@decorated\ndef outer():\n    def inner():\n        pass\n    return inner\n"
    module = Module(Path("src/compositor/example.py"), source, ast.parse(source))
    assert [(function.name, lines) for function, lines in function_lengths(module)] == [("outer", 4), ("inner", 2)]


def function_lengths(module: Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node, node.end_lineno - node.lineno + 1


def _file_lengths() -> Iterator[tuple[Path, int]]:
    for path in python_files("src", "scripts", "benchmarks", "tests"):
        yield path.relative_to(ROOT), len(path.read_text(encoding="utf-8").splitlines())
