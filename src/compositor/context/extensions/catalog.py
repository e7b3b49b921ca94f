"""Which of the definitions that were found counts: places by rank, the first of a name, and a row for each with its state.

Decides that and nothing else; how a file is parsed stands with its kind, where files lie is `adapters/extensions.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct


class Place(enum.StrEnum):
    """Where a definition comes from (project-conventions 5.1, 6.1)."""

    MANAGED = "managed"
    GIVEN = "command line"
    PROJECT = "project"
    USER = "user"
    BUILT_IN = "built in"


class Kind(enum.StrEnum):
    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"
    STYLE = "output style"


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file as it was found. `name` is what its place calls it: the folder of a skill, the stem of any other file.

    `path` is where it was found, `problem` why it could not be read; then `text` is empty.
    """

    kind: Kind
    place: Place
    name: str
    path: str
    text: str = ""
    problem: str = ""


class Refused(Struct, frozen=True):
    """A file that is no definition, and why."""

    source: SourceFile
    reason: str

    @property
    def kind(self) -> Kind:
        return self.source.kind

    @property
    def place(self) -> Place:
        return self.source.place


class State(enum.StrEnum):
    ACTIVE = "active"
    SHADOWED = "shadowed"
    REFUSED = "refused"
    OFF = "off"


class Row(Struct, frozen=True, kw_only=True):
    """What became of one file: `reason` for every state but active, `problems` where a part of it is not used."""

    kind: Kind
    name: str
    state: State
    place: Place
    path: str
    description: str = ""
    reason: str = ""
    problems: tuple[str, ...] = ()


class Definition(Protocol):
    @property
    def kind(self) -> Kind: ...
    @property
    def name(self) -> str: ...
    @property
    def place(self) -> Place: ...
    @property
    def path(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def problems(self) -> tuple[str, ...]: ...


D = TypeVar("D", bound=Definition)


class Catalog(Struct, Generic[D], frozen=True, kw_only=True):
    """The definitions that count, sorted by name (F11), and a row for every file in the order of rank."""

    active: tuple[D, ...] = ()
    rows: tuple[Row, ...] = ()

    def find(self, name: str) -> D | None:
        return next((one for one in self.active if one.name == name), None)


def settle(
    found: Sequence[D | Refused],
    rank: Callable[[D | Refused], tuple[int, ...]],
    off: Callable[[D], str] = lambda _definition: "",
) -> Catalog[D]:
    """Sort by `rank`, keep the order in which one place was searched, and let the first of each name count.

    `off` says why a definition is switched off; it shadows the others of its name all the same.
    """
    winners: dict[str, D] = {}
    rows: list[Row] = []
    active: list[D] = []
    for one in sorted(found, key=rank):
        if isinstance(one, Refused):
            rows.append(_refused(one))
            continue
        winner = winners.setdefault(one.name, one)
        reason = off(one) if winner is one else f"{winner.path or winner.place.value} has the same name and comes first"
        state = State.SHADOWED if winner is not one else State.OFF if reason else State.ACTIVE
        if state is State.ACTIVE:
            active.append(one)
        rows.append(_row(one, state, reason))
    return Catalog(active=tuple(sorted(active, key=lambda one: one.name)), rows=tuple(rows))


def _refused(one: Refused) -> Row:
    source = one.source
    return Row(
        kind=source.kind,
        name=source.name,
        state=State.REFUSED,
        place=source.place,
        path=source.path,
        reason=one.reason,
    )


def _row(one: Definition, state: State, reason: str) -> Row:
    return Row(
        kind=one.kind,
        name=one.name,
        state=state,
        place=one.place,
        path=one.path,
        description=one.description,
        reason=reason,
        problems=one.problems,
    )
