"""A value that must not be printed.

Decides how it looks everywhere: a mask. Never encodes, pickles or compares as its text.
"""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """A credential. Its text comes out of `reveal()` and of nothing else."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that puts it on the wire."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")
