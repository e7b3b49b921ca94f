"""The send journal read back: what stands, and what was never answered."""

import pytest

from compositor.context.transcript.journal import (
    Journal,
    build_journal,
    last_send,
    last_settled,
    replay_facts,
    settled_digests,
    settled_lanes,
    sum_usage,
)
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord, SentEntry
from compositor.types.provenance import Lane
from compositor.types.request import RequestOptions
from compositor.types.snapshot import EventName, PrefixEvent
from compositor.types.usage import Usage


def send(request_id: str, leaf: str, *sent: SentEntry, events: tuple[PrefixEvent, ...] = ()) -> SendRecord:
    return SendRecord(
        request_id=request_id,
        time="t",
        head_digest=f"head-{request_id}",
        view_digest=f"view-{request_id}",
        size=1,
        leaf=leaf,
        sent=sent,
        markers=(),
        options=RequestOptions(model="m", max_tokens=1),
        profile="p",
        events=events,
    )


def ended(request_id: str, outcome: SendOutcome, usage: Usage | None = None) -> OutcomeRecord:
    return OutcomeRecord(request_id=request_id, time="t", outcome=outcome, usage=usage)


ANSWERED = SendOutcome.ANSWERED


@pytest.mark.req("R424")
def test_only_answered_requests_settle_what_they_sent() -> None:
    journal = build_journal(
        [
            send("1", "u1", SentEntry("u1")),
            ended("1", ANSWERED),
            send("2", "u2", SentEntry("u1"), SentEntry("u2")),
            ended("2", SendOutcome.REFUSED),
            send("3", "u3", SentEntry("u1"), SentEntry("u3")),
        ]
    )
    assert [one.outcome for one in journal.sends] == [ANSWERED, SendOutcome.REFUSED, SendOutcome.PENDING]
    assert settled_digests(journal) == {"u1": "view-1"}
    assert settled_lanes(journal) == {"u1": Lane.CONVERSATION}
    newest, settled = last_send(journal), last_settled(journal)
    assert newest is not None
    assert settled is not None
    assert (newest.record.request_id, settled.record.request_id) == ("3", "1")


@pytest.mark.req("R222")
def test_the_lane_of_the_first_answered_send_stays() -> None:
    journal = build_journal(
        [
            send("1", "u1", SentEntry("n1", Lane.REMINDER)),
            ended("1", SendOutcome.LOST),
            send("2", "u1", SentEntry("n1", Lane.API_SYSTEM)),
            ended("2", ANSWERED),
            send("3", "u2", SentEntry("n1", Lane.REMINDER), SentEntry("u2")),
            ended("3", ANSWERED),
        ]
    )
    assert settled_lanes(journal) == {"n1": Lane.API_SYSTEM, "u2": Lane.CONVERSATION}


def test_usage_adds_up_over_all_requests() -> None:
    journal = build_journal(
        [
            send("1", "u1"),
            ended("1", ANSWERED, Usage(input_tokens=10, output_tokens=1, cache_creation_input_tokens=100)),
            send("2", "u2"),
            ended("2", SendOutcome.INTERRUPTED, Usage(input_tokens=2, output_tokens=3, cache_read_input_tokens=100)),
            send("3", "u3"),
        ]
    )
    total = sum_usage(journal)
    assert (total.input_tokens, total.output_tokens, total.written, total.read) == (12, 4, 100, 100)


def test_the_last_outcome_of_a_request_counts() -> None:
    journal = build_journal([send("1", "u1"), ended("1", SendOutcome.LOST), ended("1", ANSWERED)])
    assert [one.outcome for one in journal.sends] == [ANSWERED]


def test_replay_takes_head_and_events_from_what_was_answered() -> None:
    clear = PrefixEvent(name=EventName.CLEAR, cause="asked", entry="u0")
    switch = PrefixEvent(name=EventName.MODEL_SWITCH, cause="asked", entry="u1")
    refused = PrefixEvent(name=EventName.COLD_CLEAN, cause="idle", entry="u2")
    journal = build_journal(
        [
            clear,
            send("1", "u1", SentEntry("u1"), events=(clear, switch)),
            ended("1", ANSWERED),
            send("2", "u2", events=(refused,)),
            ended("2", SendOutcome.REFUSED),
        ]
    )
    replay = replay_facts(journal)
    assert replay.head_digest == "head-1"
    assert replay.events == (clear, switch)
    assert replay.digests == {"u1": "view-1"}


def test_an_empty_journal_says_nothing() -> None:
    replay = replay_facts(Journal())
    assert (replay.head_digest, replay.lanes, replay.digests, replay.events) == (None, {}, {}, ())
    assert last_send(Journal()) is None
    assert last_settled(Journal()) is None
    assert sum_usage(Journal()) == Usage()
