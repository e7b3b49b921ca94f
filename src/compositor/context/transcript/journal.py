"""The send journal read back: what was decided at send time, for the cold path (R424, R071, R222).

Decides which send stands and what it says: head, lanes, digests, usage. A request without an outcome counts as pending:
nothing says that it was answered, so it settles nothing. Never writes and never compiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord
from compositor.types.provenance import Lane
from compositor.types.snapshot import PrefixEvent
from compositor.types.usage import Usage, add_usage


class Send(Struct, frozen=True, kw_only=True):
    """One request and how it ended. `usage` is `None` while nothing was reported; `ended` is the record of its end, if there is one."""

    record: SendRecord
    outcome: SendOutcome = SendOutcome.PENDING
    usage: Usage | None = None
    detail: str = ""
    ended: OutcomeRecord | None = None

    @property
    def settled(self) -> bool:
        return self.outcome is SendOutcome.ANSWERED


class Journal(Struct, frozen=True):
    """Every send of a session in the order of the file, the prefix events recorded on their own, and requests outside the conversation."""

    sends: tuple[Send, ...] = ()
    events: tuple[PrefixEvent, ...] = ()
    asides: tuple[Send, ...] = ()

    @property
    def paid(self) -> tuple[Send, ...]:
        """All that cost something: the conversation's requests and those outside it."""
        return (*self.sends, *self.asides)


class Replay(Struct, frozen=True, kw_only=True):
    """What a resumed session sends again unchanged, from its answered requests. `head_digest` is `None` before the first.

    `lanes`: the lane of each entry at its first answered send. `digests`: for each entry that was the newest of an answered
    request, the digest of the prefix view that ended with it.
    """

    head_digest: str | None
    lanes: dict[str, Lane]
    digests: dict[str, str]
    events: tuple[PrefixEvent, ...]


_Records: TypeAlias = SendRecord | OutcomeRecord | PrefixEvent


def build_journal(records: Iterable[_Records]) -> Journal:
    """The journal from its records, in file order. The last outcome of a request counts."""
    sends: dict[str, SendRecord] = {}
    outcomes: dict[str, OutcomeRecord] = {}
    events: list[PrefixEvent] = []
    for record in records:
        if isinstance(record, SendRecord):
            sends[record.request_id] = record
        elif isinstance(record, OutcomeRecord):
            outcomes[record.request_id] = record
        else:
            events.append(record)
    joined = [_joined(send, outcomes.get(key)) for key, send in sends.items()]
    return Journal(
        sends=tuple(send for send in joined if not send.record.purpose),
        events=tuple(events),
        asides=tuple(send for send in joined if send.record.purpose),
    )


def last_send(journal: Journal) -> Send | None:
    """The newest request, whatever became of it."""
    return journal.sends[-1] if journal.sends else None


def last_settled(journal: Journal) -> Send | None:
    """The newest request that was answered."""
    return next((send for send in reversed(journal.sends) if send.settled), None)


def settled_digests(journal: Journal) -> dict[str, str]:
    """Entry id to the digest of the prefix view whose newest entry it was, for answered requests."""
    return {send.record.leaf: send.record.view_digest for send in journal.sends if send.settled and send.record.leaf}


def settled_lanes(journal: Journal) -> dict[str, Lane]:
    """Entry id to the lane of its first answered send: lane and place are frozen there (R222)."""
    lanes: dict[str, Lane] = {}
    for send in journal.sends:
        if send.settled:
            for sent in send.record.sent:
                lanes.setdefault(sent.entry, sent.lane)
    return lanes


def sum_usage(journal: Journal) -> Usage:
    """What all requests together used, in tokens; requests that report nothing count as zero."""
    total = Usage()
    for send in journal.paid:
        if send.usage is not None:
            total = add_usage(total, send.usage)
    return total


def replay_facts(journal: Journal) -> Replay:
    """What the cold path needs to rebuild the bytes that were sent."""
    settled = last_settled(journal)
    sent_events = (event for send in journal.sends if send.settled for event in send.record.events)
    return Replay(
        head_digest=None if settled is None else settled.record.head_digest,
        lanes=settled_lanes(journal),
        digests=settled_digests(journal),
        events=_without_repeats((*journal.events, *sent_events)),
    )


def _joined(send: SendRecord, outcome: OutcomeRecord | None) -> Send:
    if outcome is None:
        return Send(record=send)
    return Send(record=send, outcome=outcome.outcome, usage=outcome.usage, detail=outcome.detail, ended=outcome)


def _without_repeats(events: Iterable[PrefixEvent]) -> tuple[PrefixEvent, ...]:
    return tuple(dict.fromkeys(events))
