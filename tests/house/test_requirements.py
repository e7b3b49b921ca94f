"""Markers name requirements that exist, and the list of ids is whole."""

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.requirements_report import known_ids, marked_tests
from tests.house.tree import ROOT

SKIPS = frozenset({"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"})


def test_the_ids_run_from_r001_to_r424_without_a_gap() -> None:
    assert known_ids() == tuple(f"R{number:03}" for number in range(1, 425))


def test_every_marker_names_a_requirement_that_exists() -> None:
    known = set(known_ids())
    assert {name: tests for name, tests in marked_tests(ROOT / "tests").items() if name not in known} == {}


def test_markers_are_found_where_they_stand(tmp_path: Path) -> None:
    """This file's own example: `test_layers.py` shows R119."""
    shown = marked_tests(ROOT / "tests" / "house")
    assert "tests/house/test_layers.py::test_every_arrow_points_down" in shown["R119"]


def test_markers_stand_on_functions_with_ids_written_out() -> None:
    """A marker on a module or made of a variable is one that the report cannot see."""
    hidden = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        syntax = ast.parse(path.read_text(encoding="utf-8"))
        decorators = {
            id(decorator)
            for node in ast.walk(syntax)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for decorator in node.decorator_list
        }
        hidden += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in ast.walk(syntax)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) == "pytest.mark.req"
            and (id(node) not in decorators or not node.args or not all(isinstance(a, ast.Constant) for a in node.args))
        ]
    assert hidden == []


def test_no_test_is_skipped() -> None:
    """A test that cannot run fails and says what is missing."""
    assert [
        where for where, node in _test_nodes() if isinstance(node, ast.Attribute) and ast.unparse(node) in SKIPS
    ] == []


def test_every_test_can_fail() -> None:
    tests = [(where, node) for where, node in _test_nodes() if _is_test(node)]
    assert [where for where, node in tests if not any(_can_fail(inner) for inner in ast.walk(node))] == []


def _test_nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {getattr(node, 'name', '')}", node


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def _can_fail(node: ast.AST) -> bool:
    """An assert, or a call of something that asserts: `pytest.raises`, `check(...)`, `assert_*`, `run_state_machine_as_test`."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2].lstrip("_")
    return name in {"raises", "warns", "fail"} or name.startswith(("check", "assert", "expect", "run_state_machine"))
