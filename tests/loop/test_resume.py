"""The pure half of a resume: which head is sent, what is compared, what is told."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from compositor.config.options import TURN_SCOPE_BETA
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.context.transcript.graph import Path
from compositor.context.transcript.history import History
from compositor.context.transcript.journal import Journal, Send
from compositor.context.transcript.load import TranscriptFormat
from compositor.loop.news import Change, Turn, back_notes, head_changes, news_notes
from compositor.loop.resume import (
    Recorded,
    choose_head,
    latched_options,
    model_switch,
    news_entries,
    proof_notes,
    rebuild_prefix,
)
from compositor.loop.session import Stamp
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.journal import SendOutcome, SendRecord, SentEntry
from compositor.types.messages import Role
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.request import HeadParts, RequestOptions, Ttl
from compositor.types.snapshot import EventName, Facts, Latch, PrefixEvent
from tests.properties.building import FACTS, OPTIONS, WIRE


def piece(kind: str, name: str, text: str, path: str | None = None) -> Fragment:
    return Fragment(text, Attribution(Source(kind, name, path), Lane.SYSTEM, Lifetime.SESSION))


def parts(*pieces: Fragment) -> HeadParts:
    return HeadParts(system=tuple((one,) for one in pieces))


BEFORE = parts(piece("section", "tone", "be brief"), piece("memory", "project", "rules", "/p/CLAUDE.md"))
AFTER = parts(
    piece("section", "tone", "be long"),
    piece("memory", "local", "more", "/p/CLAUDE.local.md"),
    piece("context", "envelope", "frame"),
)
HEAD = compile_head(BEFORE)

HISTORY: tuple[TranscriptEntry, ...] = (
    UserEntry(uuid="u1", parent=None, time="t", content=(TextBlock("one"),)),
    AssistantEntry(
        uuid="a1",
        parent="u1",
        time="t",
        message_id="m1",
        model=FACTS.model,
        content=(TextBlock("two"),),
        stop_reason="end_turn",
    ),
    UserEntry(uuid="u2", parent="a1", time="t", content=(TextBlock("three"),)),
    AssistantEntry(
        uuid="a2",
        parent="u2",
        time="t",
        message_id="m2",
        model=FACTS.model,
        content=(TextBlock("four"),),
        stop_reason="end_turn",
    ),
)


def send(number: int, entries: tuple[TranscriptEntry, ...], outcome: SendOutcome = SendOutcome.ANSWERED) -> Send:
    prefix = extend(empty_prefix(HEAD, FACTS, WIRE), entries)
    record = SendRecord(
        request_id=f"r{number}",
        time="t",
        head_digest=HEAD.digest,
        view_digest=prefix.view_digest,
        size=1,
        leaf=entries[-1].uuid,
        sent=(),
        markers=(),
        options=msgspec.structs.replace(OPTIONS, model=FACTS.model),
        profile="x",
    )
    return Send(record=record, outcome=outcome)


def history(entries: tuple[TranscriptEntry, ...] = HISTORY, *sends: Send) -> History:
    return History(
        format=TranscriptFormat.OWN,
        path=Path(entries=entries, tip=entries[-1].uuid),
        journal=Journal(sends or (send(1, HISTORY[:1]), send(2, HISTORY[:3]))),
    )


def test_the_recorded_head_is_sent_and_the_changes_are_told() -> None:
    choice = choose_head(AFTER, Recorded(digest=HEAD.digest, parts=BEFORE), replays=True)
    assert choice.head == HEAD
    assert choice.events == ()
    assert [(change.place, change.turn) for change in choice.changes] == [
        ("tone", Turn.CHANGED),
        ("/p/CLAUDE.local.md", Turn.ADDED),
        ("envelope", Turn.ADDED),
        ("/p/CLAUDE.md", Turn.REMOVED),
    ]
    assert len(choice.diagnostics) == 4


@pytest.mark.parametrize(
    ("recorded", "replays", "cause"),
    [
        (Recorded(digest="9" * 64, problem="it is not stored any more"), True, "it is not stored any more"),
        (Recorded(digest=HEAD.digest, parts=BEFORE), False, "the setting compositor.resumeHead asks for it"),
    ],
)
def test_another_head_is_a_named_event_with_its_cause(recorded: Recorded, replays: bool, cause: str) -> None:
    choice = choose_head(AFTER, recorded, replays=replays)
    assert choice.head == compile_head(AFTER)
    assert [(event.name.value, event.cause) for event in choice.events] == [("head_rebuild", cause)]


def test_a_new_session_compiles_its_head_and_says_nothing() -> None:
    choice = choose_head(AFTER, None, replays=True)
    assert (choice.head, choice.events, choice.diagnostics) == (compile_head(AFTER), (), ())


@pytest.mark.req("R424")
def test_a_rebuilt_prefix_is_proved_by_the_last_answered_request() -> None:
    resumed = rebuild_prefix(empty_prefix(HEAD, FACTS, WIRE), history())
    assert resumed.proof.holds
    assert resumed.proof.recorded == history().journal.sends[-1].record.view_digest
    whole = extend(empty_prefix(HEAD, FACTS, WIRE), HISTORY)
    assert resumed.prefix.view_digest == whole.view_digest
    events, (told,) = proof_notes(resumed.proof, ())
    assert (events, told.code) == ((), "resume.kept")


@pytest.mark.req("R424")
def test_the_first_message_that_differs_is_found() -> None:
    changed = msgspec.structs.replace(HISTORY[2], content=(TextBlock("another three"),))
    resumed = rebuild_prefix(empty_prefix(HEAD, FACTS, WIRE), history((*HISTORY[:2], changed, HISTORY[3])))
    (difference,) = resumed.proof.differences
    assert difference.entry == "u1"
    assert "renders it otherwise" in difference.cause
    (event,), _ = proof_notes(resumed.proof, ())
    assert (event.name.value, event.entry) == ("cold_clean", "u1")


def test_another_head_and_another_model_are_causes_of_their_own() -> None:
    other = rebuild_prefix(empty_prefix(compile_head(AFTER), FACTS, WIRE), history())
    assert other.proof.differences[0].what == "the head"
    facts = Facts(model="claude-opus-4-8")
    changed = msgspec.structs.replace(HISTORY[2], content=(TextBlock("x"),))
    switched = rebuild_prefix(empty_prefix(HEAD, facts, WIRE), history((*HISTORY[:2], changed, HISTORY[3])))
    assert "the model was changed" in switched.proof.differences[0].cause


def test_requests_that_were_not_answered_or_left_the_path_prove_nothing() -> None:
    lost = history(HISTORY, send(1, HISTORY[:3], SendOutcome.LOST))
    assert rebuild_prefix(empty_prefix(HEAD, FACTS, WIRE), lost).proof.recorded is None
    elsewhere = history(HISTORY[:2], send(1, HISTORY[:3]))
    assert rebuild_prefix(empty_prefix(HEAD, FACTS, WIRE), elsewhere).proof.recorded is None


def test_lifetime_and_betas_stay_as_they_were_sent() -> None:
    wanted = msgspec.structs.replace(OPTIONS, model=FACTS.model, ttl=Ttl.LONG, betas=("new-beta",))
    options, notes = latched_options(wanted, history())
    assert (options.ttl, options.betas) == (OPTIONS.ttl, OPTIONS.betas)
    assert len(notes) == 2
    other = RequestOptions(model="claude-other", max_tokens=1, ttl=Ttl.LONG)
    assert latched_options(other, history()) == (other, ())


def test_a_change_of_the_model_is_named() -> None:
    assert model_switch(history(), FACTS.model) == ()
    (event,) = model_switch(history(), "claude-other")
    assert event.name.value == "model_switch"


@pytest.mark.req("R340")
def test_news_are_chained_behind_the_tip_and_told_once() -> None:
    numbers = itertools.count(1)
    choice = choose_head(AFTER, Recorded(digest=HEAD.digest, parts=BEFORE), replays=True)

    def stamp() -> Stamp:
        return Stamp(f"n{next(numbers)}", "t")

    news = news_entries(AFTER, choice, history(), stamp)
    assert [(entry.uuid, entry.parent) for entry in news] == [("n1", "a2"), ("n2", "n1"), ("n3", "n2")]
    assert [entry.attachment.kind for entry in news] == ["section_update", "memory_update", "memory_update"]
    assert news_entries(AFTER, choice, history((*HISTORY, *news)), stamp) == ()


def test_what_was_told_while_the_session_ran_is_not_told_again() -> None:
    changes = head_changes(BEFORE, AFTER)
    told = TextAttachment(kind="section_update", text="It reads now:\n\nbe long", name="tone")
    assert "section_update" not in {note.kind for note in news_notes(changes, [told])}


def test_what_is_again_as_recorded_is_told() -> None:
    told = TextAttachment(kind="section_update", text="now it reads:\n\nbe long", name="tone")
    (back,) = back_notes(BEFORE, (), [told])
    assert "again as it stands" in back.text
    assert back_notes(BEFORE, (), [told, back]) == ()
    restated = TextAttachment(kind="section_update", text="now it reads:\n\nbe brief", name="tone")
    assert back_notes(BEFORE, (), [told, restated]) == ()


def test_tools_and_the_frame_are_no_news() -> None:
    changes = (
        Change(source=Source("tool", "Read"), turn=Turn.CHANGED, text="x"),
        Change(source=Source("context", "envelope"), turn=Turn.CHANGED, text="x"),
    )
    assert news_notes(changes, ()) == ()
    assert [change.describe() for change in changes] == ["tool 'Read' was changed", "context 'envelope' was changed"]


SPEAKING = msgspec.structs.replace(FACTS, system_role=True)
SILENT = msgspec.structs.replace(FACTS, system_role=False)
NOTED: tuple[TranscriptEntry, ...] = (
    HISTORY[0],
    AttachmentEntry(uuid="n0", parent="u1", time="t", attachment=TextAttachment(kind="plan_mode", text="Plan only.")),
    *HISTORY[1:],
)


def noted_history(facts: Facts, lane: Lane, *, betas: tuple[str, ...] = ()) -> History:
    """A session whose note went out in `lane` with its first, answered request; the second one was answered as well."""
    options = msgspec.structs.replace(OPTIONS, model=facts.model, betas=betas)
    sends = tuple(
        msgspec.structs.replace(
            one,
            record=msgspec.structs.replace(
                one.record,
                options=options,
                sent=sent,
                view_digest=extend(empty_prefix(HEAD, facts, WIRE), NOTED[:cut]).view_digest,
            ),
        )
        for one, cut, sent in (
            (send(1, HISTORY[:1]), 2, (SentEntry("u1"), SentEntry("n0", lane))),
            (send(2, HISTORY[:3]), 4, (SentEntry("u2"),)),
        )
    )
    return history(NOTED, *sends)


def events_of(facts: Facts, past: History, *named: PrefixEvent) -> list[str]:
    resumed = rebuild_prefix(empty_prefix(HEAD, facts, WIRE), past)
    return [event.name.value for event in proof_notes(resumed.proof, named)[0]]


@pytest.mark.req("R222")
def test_notes_that_the_new_endpoint_cannot_carry_are_a_named_event() -> None:
    """Law 2: system messages that were sent become reminders; the event says so once, beside that of a new model."""
    past = noted_history(SPEAKING, Lane.API_SYSTEM)
    assert events_of(SPEAKING, past) == []
    assert events_of(SILENT, past) == ["provider_degrade"]
    (event,), (note,) = proof_notes(rebuild_prefix(empty_prefix(HEAD, SILENT, WIRE), past).proof, ())
    assert "takes no system messages" in event.cause
    assert note.code == "resume.differs"
    other = msgspec.structs.replace(SILENT, model="claude-haiku-4-5")
    assert events_of(other, past, *model_switch(past, other.model)) == ["provider_degrade"]


@pytest.mark.req("R222")
def test_a_session_that_goes_on_where_its_notes_are_reminders_records_nothing_again() -> None:
    past = noted_history(SILENT, Lane.REMINDER)
    assert events_of(SILENT, past) == []
    frozen = noted_history(SPEAKING, Lane.API_SYSTEM)
    degraded = extend(empty_prefix(HEAD, SILENT, WIRE), NOTED[:4]).view_digest
    first, second = frozen.journal.sends
    second = msgspec.structs.replace(second, record=msgspec.structs.replace(second.record, view_digest=degraded))
    since = msgspec.structs.replace(frozen, journal=Journal((first, second)))
    assert events_of(SILENT, since) == []
    assert events_of(SPEAKING, since) == ["provider_degrade"]


@pytest.mark.req("R222")
def test_turn_scoped_notes_without_their_beta_are_a_named_event_and_never_keep_the_field() -> None:
    scoped = msgspec.structs.replace(SPEAKING, turn_scoped=True)
    past = noted_history(scoped, Lane.TURN_SYSTEM, betas=(TURN_SCOPE_BETA,))
    entry = msgspec.structs.replace(NOTED[1], attachment=TextAttachment(kind="token_usage", text="100 of 200 used"))
    sent = extend(empty_prefix(HEAD, scoped, WIRE), (NOTED[0], entry, *NOTED[2:4]))
    first, second = past.journal.sends
    second = msgspec.structs.replace(
        second, record=msgspec.structs.replace(second.record, view_digest=sent.view_digest)
    )
    past = msgspec.structs.replace(
        past,
        path=msgspec.structs.replace(past.path, entries=(NOTED[0], entry, *NOTED[2:])),
        journal=Journal((first, second)),
    )
    assert events_of(scoped, past) == []
    assert events_of(SPEAKING, past) == ["provider_degrade"]
    without = rebuild_prefix(empty_prefix(HEAD, SPEAKING, WIRE), past).prefix
    assert not any(chunk.message.clear_at for chunk in without.settled if chunk.message is not None)


@pytest.mark.req("R222")
@pytest.mark.parametrize("rewritten", [False, True], ids=["tail only", "settled too"])
def test_a_latch_and_a_degrade_are_read_as_the_last_request_proves(*, rewritten: bool) -> None:
    """The journal names a degrade and a latch; whether the settled system message was rewritten then, only the digest tells."""
    past = noted_history(SPEAKING, Lane.API_SYSTEM)
    latched = msgspec.structs.replace(SPEAKING, latches=frozenset({Latch.SYSTEM_LANE}))
    lanes = {} if rewritten else {"n0": Lane.API_SYSTEM}
    truth = extend(empty_prefix(HEAD, msgspec.structs.replace(latched, lanes=lanes), WIRE), NOTED[:4]).view_digest
    first, second = past.journal.sends
    record = msgspec.structs.replace(second.record, latches=(Latch.SYSTEM_LANE,), view_digest=truth)
    degrade = PrefixEvent(name=EventName.PROVIDER_DEGRADE, cause="refused")
    journal = Journal((first, msgspec.structs.replace(second, record=record)), (degrade,))
    resumed = rebuild_prefix(empty_prefix(HEAD, SPEAKING, WIRE), msgspec.structs.replace(past, journal=journal))
    assert resumed.proof.holds
    roles = [chunk.message.role for chunk in resumed.prefix.settled if chunk.message is not None]
    assert (Role.SYSTEM in roles) is not rewritten


def test_another_model_without_notes_is_no_degrade() -> None:
    other = msgspec.structs.replace(SILENT, model="claude-haiku-4-5")
    assert events_of(other, history(), *model_switch(history(), other.model)) == []
