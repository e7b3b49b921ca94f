"""The logical message graph: which of a session's entries are the conversation, and in which order (R150, R156, R158).

Decides the leaf, the walk along parent links, and how a message stored as several records becomes one again. Links that
lead nowhere are bridged, cycles cut, both reported. Repairs no pairs and drops no block: that is `context/messages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    TranscriptEntry,
    UserEntry,
)

from .load import STEP
from .rejoin import answers_of, rejoin

_SPOKEN = (UserEntry, AssistantEntry)


class Branch(Struct, frozen=True):
    """A line of the conversation that is not on the path. `fork` is where it leaves the path; `None` when it never was on it."""

    leaf: str
    time: str
    fork: str | None


class Path(Struct, frozen=True, kw_only=True):
    """The conversation, oldest first: user, assistant and attachment entries only.

    `tip` is the entry that the next one names as its parent, `None` in an empty session. `markers` lie on the way and are
    never sent (R168). `joined` names, for a message that was stored as several records, the record ids it is made of.
    """

    entries: tuple[TranscriptEntry, ...] = ()
    tip: str | None = None
    markers: tuple[MarkerEntry, ...] = ()
    branches: tuple[Branch, ...] = ()
    joined: dict[str, tuple[str, ...]] = {}
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
    chain, cut = _walk(graph, tip)
    if cut is not None:
        diagnostics.append(_warning("cycle", "The parent links form a cycle; it is cut here.", cut))
    rejoined = rejoin(graph.nodes, graph.parents, chain)
    branches, stray = _branches(graph, terminals, rejoined.used)
    ordered = rejoined.entries
    return Path(
        entries=tuple(entry for entry in ordered if isinstance(entry, UserEntry | AssistantEntry | AttachmentEntry)),
        tip=tip,
        markers=tuple(entry for entry in ordered if isinstance(entry, MarkerEntry)),
        branches=branches,
        joined=rejoined.joined,
        diagnostics=(*diagnostics, *_report(branches, stray)),
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
    parents: dict[str, str | None] = {}
    bridged: dict[str, str] = {}
    before: str | None = None
    for uuid, entry in nodes.items():
        parents[uuid] = entry.parent
        if entry.parent is not None and entry.parent not in nodes:
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


def _walk(graph: _Graph, tip: str) -> tuple[list[str], str | None]:
    """Ids from the root to `tip`, and the entry at which a cycle was cut."""
    chain: list[str] = []
    seen: set[str] = set()
    uuid: str | None = tip
    while uuid is not None and uuid not in seen:
        seen.add(uuid)
        chain.append(uuid)
        uuid = graph.parents[uuid]
    chain.reverse()
    return chain, chain[0] if uuid is not None else None


def _branches(graph: _Graph, terminals: Sequence[_Terminal], used: set[str]) -> tuple[tuple[Branch, ...], int]:
    """The other lines, newest first, and the number of entries that hang in a cycle of their own."""
    if len(used) == len(graph.nodes):
        return (), 0
    branches: list[Branch] = []
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
    return tuple(branches), len(graph.nodes) - len(fork_of)


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


def _report(branches: Sequence[Branch], stray: int) -> list[Diagnostic]:
    found = []
    forks = sum(branch.fork is not None for branch in branches)
    if forks:
        other = "another branch" if forks == 1 else f"{forks} other branches"
        found.append(_info("branches", f"The session has {other} beside this path."))
    if len(branches) > forks:
        parts = "an earlier part" if len(branches) - forks == 1 else f"{len(branches) - forks} earlier parts"
        found.append(_info("earlier_parts", f"The file holds {parts} that the conversation is not linked to."))
    if stray:
        found.append(_warning("cycle", f"{stray} entries are linked in a cycle of their own and are left out.", ""))
    return found


def _warning(code: str, message: str, where: str) -> Diagnostic:
    return Diagnostic(f"transcript.{code}", message, where, step=STEP)


def _info(code: str, message: str) -> Diagnostic:
    return Diagnostic(f"transcript.{code}", message, severity=Severity.INFO, step=STEP)
