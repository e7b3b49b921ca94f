"""What an editor shows: the open file, what is selected in it, and what language servers report (R189).

Decides the shape in which such facts come in, whoever brings them: a file that an editor writes, or the editor protocol.
"""

from __future__ import annotations

from msgspec import Struct


class Selection(Struct, frozen=True):
    """Selected text of a file, from line `first` to line `last` (from 1)."""

    path: str
    first: int
    last: int
    text: str


class Report(Struct, frozen=True):
    """One diagnostic: `line` counts from 1, `severity` is `error`, `warning`, `information` or `hint`."""

    path: str
    line: int
    message: str
    severity: str = "error"
    source: str = ""


class EditorFacts(Struct, frozen=True):
    """All of it at one moment. Paths are absolute. `age` is how many seconds ago it was so."""

    open: str = ""
    selection: Selection | None = None
    diagnostics: tuple[Report, ...] = ()
    age: float = 0.0
