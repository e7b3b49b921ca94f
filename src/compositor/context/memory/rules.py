"""Rules that wait for a file: what their `paths` are relative to, and when one of them applies (R126, R130, R132).

Decides the base and the match. Never loads a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import relpath

from msgspec import Struct

from compositor.types.memory import MemoryLevel

from .facts import MemoryPlace
from .globs import Glob, compile_globs
from .imports import is_inside


class RuleGlobs(Struct, frozen=True, kw_only=True):
    """The `paths` of one rule. `base` is the folder they are relative to (`rule_base`)."""

    texts: tuple[str, ...]
    base: str

    @property
    def compiled(self) -> tuple[Glob, ...]:
        return compile_globs(tuple(map(_from_base, self.texts)))

    def match(self, path: str) -> str | None:
        """The first glob, as written, that matches the absolute `path`; `None` outside the base and where none does."""
        if path == self.base or not is_inside(path, self.base):
            return None
        names = relpath(path, self.base).split("/")
        found = (text for text, glob in zip(self.texts, self.compiled, strict=True) if glob.matches(names))
        return next(found, None)

    def first_match(self, paths: Iterable[str]) -> tuple[str, str] | None:
        """The first of `paths` that matches, and the glob that it matches."""
        return next(((path, glob) for path in paths if (glob := self.match(path)) is not None), None)

    def looks_into(self, folder: str) -> bool:
        """Whether every file that can match lies in `folder`: so where the base does."""
        return is_inside(self.base, folder)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Globs that mean less than they look like, each with the reason."""
        for text, glob in zip(self.texts, self.compiled, strict=True):
            if glob.problem:
                yield text, glob.problem


def rule_base(level: MemoryLevel, folder: str, place: MemoryPlace) -> str:
    """What the globs of a rule are relative to: the directory that holds its `.claude`; for a user's rule the project (R132)."""
    return place.project_root if level is MemoryLevel.USER else folder


def _from_base(text: str) -> str:
    """`./src`, `/src` and `src` mean the same; a closing slash means all that lies below."""
    text = text.removeprefix("./").lstrip("/")
    return f"{text}**" if text.endswith("/") else text
