"""What a walk finds: files that are loaded, rules that wait, and the occasion that it walks for.

Decides the shapes. Which file becomes which is decided in `walk.py`.
"""

from __future__ import annotations

from msgspec import Struct

from compositor.types.memory import MemoryFile

from .markdown import Piece
from .one_line import one_line
from .rules import RuleGlobs


class LoadedFile(Struct, frozen=True, kw_only=True):
    """One file of the chain. The pieces make `file.text`; `real` and `modified` are what a later look at the file is compared with.

    `path` is the spelling that led to it, `file.path` the same as a person reads it. `modified` is 0 for a text that stands in a setting.
    `trigger` is, for a rule with `paths`, the file that made it apply and the glob that this one matches.
    """

    file: MemoryFile
    path: str
    pieces: tuple[Piece, ...]
    real: str
    data: bytes
    modified: int
    trigger: tuple[str, str] | None = None


class ConditionalRule(Struct, frozen=True, kw_only=True):
    """A rule that waits for a file its globs match (R126). `folder` is what its imports are allowed to be beside."""

    loaded: LoadedFile
    globs: RuleGlobs
    folder: str


class Occasion(Struct, frozen=True, kw_only=True):
    """Why there is a walk: nothing at the start of a session, later the files that work has reached.

    `known` are paths of files that are loaded already, `told` those (as the model read them) whose conditions were met before.
    """

    reached: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()

    def trigger(self, path: str, globs: RuleGlobs) -> tuple[str, str] | None:
        """What makes the rule at `path` apply; `None` while it waits."""
        found = globs.first_match(self.reached)
        return (path, globs.texts[0]) if found is None and one_line(path) in self.told else found
