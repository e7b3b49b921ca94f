"""`import compositor` promises exactly the names in `__all__`, and gives each of them."""

import ast
import types
from collections.abc import Iterator

import pytest

import compositor
from tests.house.tree import PACKAGE

PROMISED: tuple[str, ...] = tuple(getattr(compositor, "__all__", ()))


def test_every_promised_name_is_given() -> None:
    missing = [name for name in PROMISED if not hasattr(compositor, name)]
    assert missing == []


def test_no_name_is_promised_twice() -> None:
    assert len(PROMISED) == len(set(PROMISED))


def test_nothing_public_is_given_beyond_the_promise() -> None:
    given = {
        name
        for name, value in vars(compositor).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert given - set(PROMISED) - {"TYPE_CHECKING", "annotations"} == set()


def test_type_checkers_see_every_promised_name() -> None:
    syntax = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    assert set(PROMISED) - set(bound_names(syntax.body)) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = compositor.no_such_name


def bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Names a type checker finds at the top of a module: imported (guarded or not), assigned or defined there."""
    for node in body:
        match node:
            case ast.If(test=test) if ast.unparse(test).endswith("TYPE_CHECKING"):
                yield from bound_names(node.body)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
