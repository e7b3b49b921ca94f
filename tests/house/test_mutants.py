"""The mutation script breaks what a test can notice, one thing at a time, and leaves alone what it cannot."""

import ast

import pytest

from scripts.law_modules import LAW_MODULES, PACKAGE, ROOT, law_files, noticing_tests
from scripts.mutants import mutants_of


def _bodies(source: str) -> list[str]:
    return [mutant.source.strip() for mutant in mutants_of(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a == b != c", ["x = a != b != c", "x = a == b == c"]),
        ("x = a in b", ["x = a not in b"]),
        ("x = a and b", ["x = a or b"]),
        ("x = not a", ["x = not not a"]),
        ("x = a + b", ["x = a - b"]),
        ("x += 1", ["x -= 1", "x += 2"]),
        ("x = True", ["x = False"]),
        ("x = a if b else c", ["x = a if not b else c"]),
        ("if a:\n    b()", ["if not a:\n    b()", "if a:\n    None"]),
        ("def f(n: int=3) -> int:\n    return g(n)", ["def f(n: int=4) -> int:\n    return g(n)", "def f(n: int=3) -> int:\n    return None"]),
        ("match a:\n    case 1 if b < c:\n        d()", ["match a:\n    case 1 if b <= c:\n        d()", "match a:\n    case 1 if b < c:\n        None"]),
    ],
)  # fmt: skip
def test_one_thing_is_broken_at_a_time(source: str, expected: list[str]) -> None:
    assert _bodies(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring about 3 things."""',
        "x: Annotated[int, 3]",
        "class A(Struct, frozen=True):\n    n: int",
        "raise ValueError(f'{a + 1}')",
        "__all__ = ('a', 'b')",
        "if TYPE_CHECKING:\n    x = 1",
        "return_value = None",
    ],
)
def test_what_no_test_can_notice_is_left_alone(source: str) -> None:
    assert _bodies(source) == []


def test_mutants_know_their_line_and_can_be_parsed() -> None:
    source = "a = 1\n\n\ndef f():\n    while b:\n        return c < 2\n"
    mutants = list(mutants_of(source))
    assert [mutant.line for mutant in mutants] == [1, 5, 6, 6, 6]
    assert all(ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source)) for mutant in mutants)


def test_a_law_module_is_tried_with_its_own_tests_first() -> None:
    assert len(set(LAW_MODULES)) == len(LAW_MODULES)
    assert [path for path in law_files() if not path.is_relative_to(PACKAGE)] == []
    assert noticing_tests(PACKAGE / "errors.py")[0] == ROOT / "tests" / "errors"
