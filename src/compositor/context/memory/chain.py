"""The memory chain: walks over all candidates and their imports, resumed with facts until nothing is unknown.

Decides where a walk begins: at the candidates of a session's start, or at what work has reached since (R122, R130). The flows ask for
paths; whoever drives them reads them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.provenance import Omission

from .automatic import MemoryIndex
from .facts import Fact, FileFact, FolderFact, MemoryPlace, Need
from .imports import GUARDS, Guards
from .left_out import LeftOut
from .loaded import ConditionalRule, LoadedFile, Occasion
from .parse import ParsedMemory, parse_memory
from .places import Candidate, FileCandidate, plan_chain, plan_nested
from .walk import Walk


class MemoryChain(Struct, frozen=True, kw_only=True):
    """What the walk found: files in load order, rules that wait, and everything that was left out or repaired.

    `indexes` are the tables of contents of team and automatic memory, which no walk loads. `outside` are the files that imports lead to and
    nobody answered for yet (R138).
    """

    files: tuple[LoadedFile, ...] = ()
    rules: tuple[ConditionalRule, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    indexes: tuple[MemoryIndex, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def omissions(self) -> tuple[Omission, ...]:
        return tuple(found.omission for found in self.left_out)


MemoryFlow: TypeAlias = Generator[Need, Sequence[Fact], MemoryChain]
"""Yields what is not known yet, is sent the facts of exactly these paths, returns the chain."""


def memory_flow(place: MemoryPlace, guards: Guards = GUARDS) -> MemoryFlow:
    """What applies when a session starts."""
    return _flow(place, guards, Occasion(), tuple(plan_chain(place)))


def nested_flow(
    place: MemoryPlace, start: MemoryChain, reached: Iterable[str], told: Iterable[str] = (), guards: Guards = GUARDS
) -> MemoryFlow:
    """What applies besides `start`, now that work has reached the absolute paths `reached`: rules that match, then nested files.

    `told` are the files that the model was given on earlier occasions: their rules apply still. Order: rules of the start, then the folders
    on the way down, outer before inner, whatever the order of `reached`.
    """
    known = frozenset(name for loaded in start.files for name in (loaded.path, loaded.real))
    occasion = Occasion(reached=tuple(sorted(set(reached))), known=known, told=frozenset(told))
    waiting = (
        FileCandidate(path=rule.loaded.path, level=rule.loaded.file.level, base=rule.folder, is_rule=True)
        for rule in start.rules
        if occasion.trigger(rule.loaded.path, rule.globs) is not None
    )
    return _flow(place, guards, occasion, (*waiting, *plan_nested(place, occasion.reached, occasion.told)))


def _flow(place: MemoryPlace, guards: Guards, occasion: Occasion, candidates: Sequence[Candidate]) -> MemoryFlow:
    facts: dict[str, Fact] = {}
    parsed: dict[str, ParsedMemory] = {}

    def learn(fact: Fact) -> None:
        facts[fact.path] = fact
        if isinstance(fact, FileFact) and fact.data is not None:
            parsed[fact.path] = parse_memory(fact.path, fact.data)

    for path, text in place.managed_texts:
        data = text.encode("utf-8", "replace")
        learn(FileFact(path=path, real=path, data=data, size=len(data)))
    while True:
        walk = Walk(place, guards, occasion, facts, parsed)
        walk.run(candidates)
        if not walk.wanted:
            return MemoryChain(
                files=tuple(walk.files),
                rules=tuple(walk.rules),
                left_out=tuple(walk.left_out),
                diagnostics=tuple(walk.diagnostics),
                outside=tuple(walk.outside),
            )
        files = tuple(path for path, kind in walk.wanted.items() if kind is FileFact)
        folders = tuple(path for path, kind in walk.wanted.items() if kind is FolderFact)
        for fact in (yield Need(files=files, folders=folders)):
            learn(fact)
