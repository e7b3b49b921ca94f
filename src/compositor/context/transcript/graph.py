"""The logical message graph: which of a session's entries are the conversation, and in which order (R150, R156, R158).

Decides the leaf and the walk along parent links, up to the last valid compact boundary. Links that lead nowhere are
bridged, cycles cut, both reported. Repairs no pairs and drops no block: that is `context/messages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec
from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    TranscriptEntry,
    UserEntry,
)

from .boundary import UNLINKED, Boundary, valid_boundaries
from .load import STEP
from .rejoin import answers_of, rejoin

_SPOKEN = (UserEntry, AssistantEntry)
_SENDABLE = (*_SPOKEN, AttachmentEntry)


class Branch(Struct, frozen=True):
    """A line of the conversation that is not on the path. `fork` is where it leaves the path; `None` when it never was on it."""

    leaf: str
    time: str
    fork: str | None


class Path(Struct, frozen=True, kw_only=True):
    """The conversation, oldest first: user, assistant and attachment entries only.

    `tip` is the entry that the next one names as its parent, `None` in an empty session. `markers` lie on the way and are
    never sent (R168). `joined` names, for a message that was stored as several records, the record ids it is made of.
    `summarized` counts the entries before the compact boundary that the path begins at (R152).
    """

    entries: tuple[TranscriptEntry, ...] = ()
    tip: str | None = None
    markers: tuple[MarkerEntry, ...] = ()
    branches: tuple[Branch, ...] = ()
    joined: dict[str, tuple[str, ...]] = {}
    summarized: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()


def active_path(entries: Iterable[TranscriptEntry], leaf: str | None = None) -> Path:
    """The path that ends in `leaf`, or in the newest real user or assistant entry, newest by time (F31).

    What hangs behind the newest message without being one (attachments, meta entries, markers) belongs to its path. An
    unknown `leaf` gives the newest path and a diagnostic.
    """
    graph = _index(entries)
    diagnostics = list(graph.diagnostics)
    if leaf is not None and leaf not in graph.nodes:
        diagnostics.append(_warning("unknown_leaf", f"There is no entry {leaf!r}; the newest path is used.", leaf))
        leaf = None
    terminals = _terminals(graph)
    tip = leaf or (terminals[-1].tip if terminals else None)
    if tip is None:
        return Path(diagnostics=tuple(diagnostics))
    walk = _walk(graph, tip)
    rejoined = rejoin(graph.nodes, graph.parents, walk.chain, walk.summarized)
    beside = _branches(graph, terminals, rejoined.used | walk.summarized)
    ordered = rejoined.entries
    return Path(
        entries=tuple(entry for entry in ordered if isinstance(entry, UserEntry | AssistantEntry | AttachmentEntry)),
        tip=tip,
        markers=tuple(entry for entry in ordered if isinstance(entry, MarkerEntry)),
        branches=beside.branches,
        joined=rejoined.joined,
        summarized=len(walk.summarized),
        diagnostics=(*diagnostics, *_walk_report(walk), *_report(beside)),
    )


class _Graph(Struct, frozen=True):
    """Entries by id, in file order, and the parent of each after bridging."""

    nodes: dict[str, TranscriptEntry]
    parents: dict[str, str | None]
    diagnostics: tuple[Diagnostic, ...]


class _Terminal(Struct, frozen=True):
    """An entry that nobody names as parent, and the newest message at or above it."""

    tip: str
    message: str
    real: bool


def _index(entries: Iterable[TranscriptEntry]) -> _Graph:
    nodes: dict[str, TranscriptEntry] = {}
    repeated: dict[str, int] = {}
    for entry in entries:
        if entry.uuid in nodes:
            repeated[entry.uuid] = repeated.get(entry.uuid, 0) + 1
        elif entry.uuid:
            nodes[entry.uuid] = entry
    parents: dict[str, str | None] = {uuid: entry.parent for uuid, entry in nodes.items()}
    bridged: dict[str, str] = {}
    if missing := set(parents.values()) - nodes.keys() - {None}:
        before: str | None = None
        for uuid, entry in nodes.items():
            if entry.parent is not None and entry.parent in missing:
                parents[uuid] = before
                bridged[uuid] = entry.parent
            before = uuid
    return _Graph(nodes, parents, (*_duplicate_report(repeated), *_bridge_report(bridged, parents)))


def _terminals(graph: _Graph) -> list[_Terminal]:
    """Every end of the graph, the newest last: a real message beats a meta one, then time counts, then file order."""
    named = set(graph.parents.values())
    ends = [uuid for uuid in graph.nodes if uuid not in named]
    # In a graph of cycles alone nothing is an end: then everything may be one.
    found = [_terminal(graph, uuid) for uuid in ends or graph.nodes]
    if len(found) == 1:
        return found
    place = {uuid: index for index, uuid in enumerate(graph.nodes)}
    return sorted(
        found,
        key=lambda one: (
            one.real,
            graph.nodes[one.message].time,
            place[one.message],
            graph.nodes[one.tip].time,
            place[one.tip],
        ),
    )


def _terminal(graph: _Graph, end: str) -> _Terminal:
    """The end with its newest real message, else its newest message, else itself."""
    fallback: str | None = None
    uuid: str | None = end
    seen: set[str] = set()
    while uuid is not None and uuid not in seen:
        seen.add(uuid)
        entry = graph.nodes[uuid]
        if isinstance(entry, AssistantEntry) or (isinstance(entry, UserEntry) and not entry.is_meta):
            return _Terminal(end, uuid, real=True)
        if fallback is None and isinstance(entry, UserEntry):
            fallback = uuid
        uuid = graph.parents[uuid]
    return _Terminal(end, fallback or end, real=False)


class _Walk(Struct, frozen=True, kw_only=True):
    """Ids from the root, or the boundary, to the tip; `cycle` is the entry at which one was cut."""

    chain: list[str]
    cycle: str | None = None
    boundary: Boundary | None = None
    summarized: Set[str] = frozenset()


def _walk(graph: _Graph, tip: str) -> _Walk:
    boundaries = valid_boundaries(graph.nodes, graph.parents)
    chain: list[str] = []
    seen: set[str] = set()
    uuid: str | None = tip
    while uuid is not None and uuid not in seen:
        chain.append(uuid)
        seen.add(uuid)
        if uuid in boundaries:
            break
        uuid = graph.parents[uuid]
    chain.reverse()
    boundary = boundaries.get(chain[0])
    if boundary is None:
        return _Walk(chain=chain, cycle=chain[0] if uuid is not None else None)
    boundary = _on_chain(boundary, seen)
    if boundary.preserved:
        behind = chain.index(boundary.anchor) + 1
        chain[behind:behind] = boundary.preserved
    summarized = _summarized(graph, boundary.uuid, seen.union(boundary.preserved))
    return _Walk(chain=chain, boundary=boundary, summarized=summarized)


def _on_chain(boundary: Boundary, chain: set[str]) -> Boundary:
    """The boundary as far as this chain can apply it: its anchor must be on it, what it preserved must not."""
    preserved = tuple(uuid for uuid in boundary.preserved if uuid not in chain)
    if not preserved or boundary.anchor in chain:
        return msgspec.structs.replace(boundary, preserved=preserved)
    return msgspec.structs.replace(boundary, preserved=(), problem=UNLINKED)


def _summarized(graph: _Graph, boundary: str, kept: set[str]) -> set[str]:
    """What lies above the boundary on the stored links, with the results that belong to it, and was not preserved."""
    above: dict[str, None] = {}
    uuid = graph.parents[boundary]
    while uuid is not None and uuid not in above and uuid != boundary:
        above[uuid] = None
        uuid = graph.parents[uuid]
    # The common case, a session of one line: all that is not kept lies above.
    if not above or len(above) + len(kept - above.keys()) == len(graph.nodes):
        return above.keys() - kept
    return rejoin(graph.nodes, graph.parents, list(reversed(above)), kept).used - kept


class _Beside(Struct, frozen=True, kw_only=True):
    """What is not on the path.

    `branches` are the other lines, newest first, `hanging` entries that hang on either without being a line of their own,
    `stray` entries in a cycle of their own.
    """

    branches: tuple[Branch, ...] = ()
    hanging: int = 0
    stray: int = 0


def _branches(graph: _Graph, terminals: Sequence[_Terminal], used: Set[str]) -> _Beside:
    if len(used) == len(graph.nodes):
        return _Beside()
    branches: list[Branch] = []
    hanging = 0
    fork_of: dict[str, str | None] = {uuid: uuid for uuid in used}
    for terminal in reversed(terminals):
        above: list[str] = []
        uuid: str | None = terminal.tip
        while uuid is not None and uuid not in fork_of:
            fork_of[uuid] = None
            above.append(uuid)
            uuid = graph.parents[uuid]
        fork = fork_of[uuid] if uuid is not None else None
        fork_of.update((one, fork) for one in above)
        entry = graph.nodes[terminal.message]
        # What hangs on a message of a branch already told, and the further results of its calls, are no branch.
        told = entry.uuid not in above or (bool(answers_of(entry)) and uuid is not None and uuid not in used)
        if not told and isinstance(entry, _SPOKEN):
            branches.append(Branch(entry.uuid, entry.time, fork))
        else:
            hanging += sum(isinstance(graph.nodes[one], _SENDABLE) for one in above)
    return _Beside(branches=tuple(branches), hanging=hanging, stray=len(graph.nodes) - len(fork_of))


def _duplicate_report(repeated: Mapping[str, int]) -> list[Diagnostic]:
    return [
        _warning("duplicate_id", f"{count + 1} records have the id {uuid!r}; the first one counts.", uuid)
        for uuid, count in repeated.items()
    ]


def _bridge_report(bridged: Mapping[str, str], parents: Mapping[str, str | None]) -> list[Diagnostic]:
    """R158: each link that leads nowhere, and what was done about it."""
    return [
        _warning(
            "missing_parent",
            f"The parent {missing!r} is not in the file; "
            + ("the entry before it takes its place." if parents[uuid] else "the conversation begins here."),
            uuid,
        )
        for uuid, missing in bridged.items()
    ]


def _walk_report(walk: _Walk) -> list[Diagnostic]:
    found = []
    if walk.cycle is not None:
        found.append(_warning("cycle", "The parent links form a cycle; it is cut here.", walk.cycle))
    if walk.boundary is not None and walk.boundary.problem:
        found.append(_warning("preserved_missing", walk.boundary.problem, walk.boundary.uuid))
    if walk.summarized:
        entries = (
            "1 earlier entry stands" if len(walk.summarized) == 1 else f"{len(walk.summarized)} earlier entries stand"
        )
        found.append(_info("summarized", f"{entries} before the last compaction, behind its summary."))
    return found


def _report(beside: _Beside) -> list[Diagnostic]:
    found = []
    branches = beside.branches
    forks = sum(branch.fork is not None for branch in branches)
    if forks:
        other = "another branch" if forks == 1 else f"{forks} other branches"
        found.append(_info("branches", f"The session has {other} beside this path."))
    if len(branches) > forks:
        parts = "an earlier part" if len(branches) - forks == 1 else f"{len(branches) - forks} earlier parts"
        found.append(_info("earlier_parts", f"The file holds {parts} that the conversation is not linked to."))
    if beside.hanging:
        found.append(_info("beside", f"Notes or results that hang beside the path and are left out: {beside.hanging}."))
    if beside.stray:
        found.append(
            _warning("cycle", f"{beside.stray} entries are linked in a cycle of their own and are left out.", "")
        )
    return found


def _warning(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(f"transcript.{code}", message, where, step=STEP)


def _info(code: str, message: str) -> Diagnostic:
    return Diagnostic(f"transcript.{code}", message, severity=Severity.INFO, step=STEP)
