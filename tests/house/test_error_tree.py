"""The error tree as drawn in `compositor.errors` is the tree that stands there, and every error in it is inert and portable."""

import ast
import inspect
import pickle
from itertools import takewhile

import pytest

from compositor import errors
from compositor.errors import CompositorError
from tests.house.tree import modules

CLASSES = tuple(
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, CompositorError)
)

# The least each constructor wants beside the sentence.
NEEDED = {errors.IllegalRequestError: {"rule": "L001"}, errors.ProviderHTTPError: {"status": 500}}


def test_the_drawing_is_the_tree() -> None:
    assert drawn_tree(errors.__doc__ or "") == {cls.__name__: _parent(cls) for cls in CLASSES}


def test_codes_are_unique_and_speakable() -> None:
    codes = [cls.code for cls in CLASSES]
    assert len(codes) == len(set(codes))
    assert [code for code in codes if not code.replace("-", "").isalpha() or code != code.lower()] == []


@pytest.mark.parametrize("cls", CLASSES)
def test_each_class_names_its_own_code_and_meaning(cls: type[CompositorError]) -> None:
    assert "code" in vars(cls)
    assert inspect.getdoc(cls) != inspect.getdoc(cls.__bases__[0])


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_survives_pickling_whole(cls: type[CompositorError]) -> None:
    error = cls("The thing 'x' is wrong", where="a.json:3", hint="Change it", **NEEDED.get(cls, {}))
    error.add_note("seen twice")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert (str(copy), copy.args, vars(copy)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_reads_as_sentence_place_hint(cls: type[CompositorError]) -> None:
    text = str(cls("The thing 'x' is wrong", where="a.json:3", hint="Change it", **NEEDED.get(cls, {})))
    assert text.startswith("The thing 'x' is wrong. At a.json:3. ")
    assert text.endswith("Change it.")


def test_an_error_is_inert() -> None:
    """No statement in errors.py can do anything: it imports no module that acts, and prints, logs or opens nothing."""
    (module,) = (module for module in modules() if module.part == "errors")
    imported = {
        name
        for node in ast.walk(module.syntax)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {"__future__", "collections.abc", "enum", "typing"}


def test_public_exceptions_are_declared_in_errors_only() -> None:
    """Anywhere else it would be an error that nobody can look up; a private one never leaves its file."""
    strays = [
        f"{module.path}::{node.name}"
        for module in modules()
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and module.part != "errors"
        if any(ast.unparse(base).endswith(("Error", "Exception")) for base in node.bases)
    ]
    assert strays == []


def drawn_tree(docstring: str) -> dict[str, str | None]:
    """Class -> its parent, from the indented block of a docstring that starts with the base class."""
    lines = docstring.splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip() == CompositorError.__name__)
    tree: dict[str, str | None] = {}
    open_branches: list[tuple[int, str]] = []
    for line in takewhile(str.strip, lines[start:]):
        name, depth = line.strip(), len(line) - len(line.lstrip())
        open_branches = [(other, parent) for other, parent in open_branches if other < depth]
        tree[name] = open_branches[-1][1] if open_branches else None
        open_branches.append((depth, name))
    return tree


def _parent(cls: type[CompositorError]) -> str | None:
    return None if cls is CompositorError else cls.__bases__[0].__name__
