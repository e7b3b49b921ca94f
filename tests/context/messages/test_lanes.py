"""Lanes: who may use the system lane, what a refusal changes, and that what was sent keeps its lane and its bytes."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from compositor.context.attachments.kinds import Speaker
from compositor.context.attachments.table import KINDS
from compositor.context.explain import spans
from compositor.context.finish import finish
from compositor.context.messages.lanes import choose_lane, lanes_of
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.loop.remedies import DropLane, DropTurnScope, ReplaceImages, SpareSystemMarkers, apply_remedy
from compositor.types.attachments import Attachment, QueuedInput, TextAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, Origin, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.messages import Role
from compositor.types.provenance import Lane
from compositor.types.snapshot import EventName, Facts, Latch
from tests.properties.building import BARE, OPTIONS, WIRE
from tests.properties.bulk import world
from tests.properties.strategies import MODEL, TIME

ADDING = Facts(model=MODEL, system_role=True, tool_changes=True)
CAPABLE = Facts(model=MODEL, system_role=True, turn_scoped=True)


def note(uuid: str, kind: str = "date_change", text: str = "news") -> AttachmentEntry:
    return attached(uuid, TextAttachment(kind=kind, text=text))


def attached(uuid: str, attachment: Attachment) -> AttachmentEntry:
    return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=attachment)


def user(uuid: str, text: str = "go") -> UserEntry:
    return UserEntry(uuid=uuid, parent=None, time=TIME, content=(TextBlock(text),))


def answer(uuid: str, *blocks: ToolUseBlock) -> AssistantEntry:
    return AssistantEntry(
        uuid=uuid,
        parent=None,
        time=TIME,
        message_id=uuid,
        model=MODEL,
        content=(TextBlock("ok"), *blocks),
        stop_reason="tool_use" if blocks else "end_turn",
    )


def prefix_of(*entries: TranscriptEntry, facts: Facts = CAPABLE) -> Prefix:
    return extend(empty_prefix(BARE, facts, WIRE), entries)


ROWS: list[tuple[str, Attachment, Facts, Lane]] = [
    ("own word", TextAttachment(kind="plan_mode", text="x"), CAPABLE, Lane.API_SYSTEM),
    ("own word of this turn", TextAttachment(kind="budget", text="x"), CAPABLE, Lane.TURN_SYSTEM),
    (
        "of this turn, without the beta",
        TextAttachment(kind="budget", text="x"),
        Facts(model=MODEL, system_role=True),
        Lane.API_SYSTEM,
    ),
    ("an added tool", TextAttachment(kind="tool_addition", text="x"), ADDING, Lane.API_SYSTEM),
    ("an added tool, without the beta", TextAttachment(kind="tool_addition", text="x"), CAPABLE, Lane.REMINDER),
    ("text of a file", TextAttachment(kind="nested_memory", text="x"), CAPABLE, Lane.REMINDER),
    ("text of a hook", TextAttachment(kind="hook_result", text="x"), CAPABLE, Lane.REMINDER),
    ("another agent", QueuedInput(kind="plan_mode", text="x", origin=Origin.PEER), CAPABLE, Lane.REMINDER),
    ("a person", QueuedInput(kind="plan_mode", text="x", origin=Origin.HUMAN), CAPABLE, Lane.CONVERSATION),
    ("no such role", TextAttachment(kind="plan_mode", text="x"), Facts(model=MODEL), Lane.REMINDER),
    (
        "refused before",
        TextAttachment(kind="plan_mode", text="x"),
        Facts(model=MODEL, system_role=True, latches=frozenset({Latch.SYSTEM_LANE})),
        Lane.REMINDER,
    ),
]


@pytest.mark.req("R219", "R220", "R221", "R226", "R228", "R229")
@pytest.mark.parametrize(("what", "attachment", "facts", "lane"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_eligibility(what: str, attachment: Attachment, facts: Facts, lane: Lane) -> None:
    chosen = choose_lane(attached("n", attachment), facts)
    assert chosen.lane is lane, what
    assert chosen.why


@pytest.mark.req("R229", "R233")
def test_explain_names_lane_and_cause_of_each_note() -> None:
    entries = (
        user("u1"),
        answer("a1", ToolUseBlock("t1", "Read", raw_json({}))),
        UserEntry(uuid="u2", parent=None, time=TIME, content=(ToolResultBlock("t1", "x"),)),
        note("n1"),
        note("n2", kind="nested_memory", text="Use tabs."),
    )
    compiled = finish(prefix_of(*entries), OPTIONS)
    body = compiled.body
    found = {
        span.origin.source.name: (span.origin.lane, span.origin.gate, body[span.start : span.end].decode())
        for span in spans(compiled)
        if span.origin.source.name in {"n1", "n2"}
    }
    assert found["n1"] == (Lane.API_SYSTEM, "the client's own word", "news")
    lane, gate, text = found["n2"]
    assert (lane, text) == (
        Lane.REMINDER,
        '{"type":"text","text":"<system-reminder>\\nUse tabs.\\n</system-reminder>"}',
    )
    assert gate == "'nested_memory' may carry words that are not the client's"


@pytest.mark.req("R222", "R223")
def test_a_refused_lane_changes_what_is_unsent_and_nothing_else() -> None:
    frozen = Facts(model=MODEL, system_role=True)
    before = prefix_of(user("u1"), answer("a1"), user("u2"), note("n1"), facts=frozen)
    after = apply_remedy(before, DropLane(), "role 'system' is not supported on this model")
    assert after is not None
    assert [chunk.data for chunk in after.settled] == [chunk.data for chunk in before.settled]
    assert after.view == before.view
    assert after.events == ()
    assert lanes_of(before.tail.chunks)["n1"] is Lane.API_SYSTEM
    assert lanes_of(after.tail.chunks)["n1"] is Lane.REMINDER
    assert apply_remedy(after, DropLane(), "again") is None


@pytest.mark.req("R222")
def test_a_lane_that_was_taken_and_is_refused_later_is_rewritten_as_a_named_event() -> None:
    before = prefix_of(user("u1"), note("n1"), answer("a1"), user("u2"), note("n2"))
    after = apply_remedy(before, DropLane(), "role 'system' is not supported on this model")
    assert after is not None
    assert [event.name for event in after.events] == [EventName.PROVIDER_DEGRADE]
    roles = [chunk.message.role for chunk in (*after.settled, *after.tail.chunks) if chunk.message is not None]
    assert Role.SYSTEM not in roles


@pytest.mark.req("R222")
def test_a_refused_clear_at_makes_plain_system_messages() -> None:
    before = prefix_of(user("u1"), note("n1", kind="budget"))
    after = apply_remedy(before, DropTurnScope(), "messages.1.clear_at: Extra inputs are not permitted")
    assert after is not None
    assert lanes_of(after.tail.chunks)["n1"] is Lane.API_SYSTEM


@pytest.mark.req("R224")
def test_a_refused_marker_moves_to_the_ordinary_message_and_the_lane_stays_on() -> None:
    before = prefix_of(user("u1"), note("n1"))
    first = finish(before, OPTIONS)
    assert first.markers[-1].path == "messages[1].content[0]"
    after = apply_remedy(before, SpareSystemMarkers(), "messages.1.content.0.cache_control: not here")
    assert after is not None
    second = finish(after, OPTIONS)
    assert second.markers[-1].path == "messages[0].content[0]"
    assert second.view_digest == first.view_digest


@pytest.mark.req("R258")
def test_a_turn_scoped_message_takes_no_marker() -> None:
    found = finish(prefix_of(user("u1"), note("n1", kind="budget")), OPTIONS)
    assert found.markers[-1].path == "messages[0].content[0]"


@pytest.mark.req("R222", "R234")
@pytest.mark.parametrize("part", range(4))
def test_degrading_at_any_point_gives_the_bytes_of_the_cold_path_with_the_journal(part: int) -> None:
    """What the journal records at each answered send is what the cold path needs: lanes, latches, refused images."""
    for seed in range(part, 400, 4):
        given = world(seed)
        rng = Random(seed)
        prefix = empty_prefix(given.head, given.facts, given.wire)
        for entry in given.entries:
            prefix = extend(prefix, (entry,))
            if rng.random() < 0.2:
                remedy = rng.choice((DropLane(), DropTurnScope(), ReplaceImages(("0" * 64,))))
                settled = [chunk.data for chunk in prefix.settled]
                mended = apply_remedy(prefix, remedy, "in a test")
                if mended is not None:
                    assert mended.events or [chunk.data for chunk in mended.settled] == settled
                    prefix = mended
        journaled = msgspec.structs.replace(prefix.facts, lanes=lanes_of(prefix.settled))
        cold = extend(empty_prefix(given.head, journaled, given.wire), given.entries)
        assert finish(cold, given.options).body == finish(prefix, given.options).body, f"seed {seed}"


@pytest.mark.req("R220", "R228")
def test_only_words_of_the_client_itself_may_take_a_lane_of_the_operator() -> None:
    assert {row.lane for row in KINDS.values()} == {Lane.REMINDER, Lane.API_SYSTEM, Lane.TURN_SYSTEM}
    assert {row.speaker for row in KINDS.values() if row.lane is not Lane.REMINDER} == {Speaker.CLIENT}
