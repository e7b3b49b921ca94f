"""How a module looks: it says what it decides, is named for what it holds, and spells as the public APIs do."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.tree import modules, python_files

# Names that say nothing about what is inside.
EMPTY_WORDS = frozenset({"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})

# Stems of British spellings; the public APIs of the field are written in American.
BRITISH = re.compile(
    r"behaviour|colour|favour|honour|neighbour|licence|centre|artefact|catalogue|cancelled_by|"
    r"(?:author|canonical|capital|categor|custom|final|initial|minim|maxim|normal|optim|organ|recogn|serial|summar|"
    r"synchron|token|util|visual)is(?:e|ed|er|es|ing|ation)\b|analys(?:e|ed|er|es|ing)\b"
)


def test_every_module_says_what_it_decides() -> None:
    silent = [str(module.path) for module in modules() if module.text.strip() and not ast.get_docstring(module.syntax)]
    assert silent == []


def test_every_test_file_and_script_says_what_it_is_for() -> None:
    silent = [
        path.as_posix()
        for path in python_files("tests", "scripts", "benchmarks")
        if (text := path.read_text(encoding="utf-8")).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = [
        str(module.path) for module in modules() for part in module.path.parts if is_vague(part.removesuffix(".py"))
    ]
    assert vague == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    vague = [
        f"{module.path}::{node.name}"
        for module in modules()
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.ClassDef) and is_vague(re.sub(r"(?<!^)(?=[A-Z])", "_", node.name))
    ]
    assert vague == []


def test_identifiers_are_spelled_the_american_way() -> None:
    british = [
        f"{module.path}: {name}" for module in modules() for name in identifiers(module.syntax) if is_british(name)
    ]
    assert british == []


@pytest.mark.parametrize("name", ["utils", "path_helpers", "common", "Session_Manager"])
def test_a_vague_name_is_noticed(name: str) -> None:
    assert is_vague(name)


@pytest.mark.parametrize("name", ["normalise", "behaviour_of", "token_serialiser", "Colour", "analyse"])
def test_a_british_name_is_noticed(name: str) -> None:
    assert is_british(name)


@pytest.mark.parametrize("name", ["normalize", "behavior", "analysis", "cancelled", "promise", "raise_it", "precise"])
def test_an_american_name_passes(name: str) -> None:
    assert not is_british(name)


def is_vague(name: str) -> bool:
    return not EMPTY_WORDS.isdisjoint(name.lower().split("_"))


def is_british(name: str) -> bool:
    return BRITISH.search(name.lower().replace("_", " ")) is not None


def identifiers(syntax: ast.Module) -> Iterator[str]:
    """Names this module gives to things: functions, classes, arguments, variables."""
    for node in ast.walk(syntax):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
