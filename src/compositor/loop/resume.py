"""A session goes on: its recorded head is sent again, the rebuilt prefix is proved, and what is new stands at the tail.

Decides which head a resumed session sends (R071, R347), whether what was rebuilt is what was sent (F12, R424), and which
changes the model is told (R346). Runs no tool and no hook again; reads and stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from compositor.config.options import facts_under
from compositor.context.attachments.restore import restore_attachments
from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext, check_regions
from compositor.context.prefix import Prefix, extend
from compositor.context.transcript.history import History
from compositor.context.transcript.journal import Journal, Send, last_send, last_settled, settled_lanes
from compositor.types.attachments import TextAttachment
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.entries import AttachmentEntry, TranscriptEntry
from compositor.types.journal import SendRecord
from compositor.types.provenance import Lane
from compositor.types.request import Head, HeadParts, RequestOptions
from compositor.types.snapshot import EventName, Facts, Latch, PrefixEvent

from .news import Change, back_notes, head_changes, news_notes
from .session import Stamp

STEP = "resume"


class Recorded(Struct, frozen=True, kw_only=True):
    """The head that the last answered request was sent with. `problem` says why it cannot be had or sent."""

    digest: str
    parts: HeadParts | None = None
    problem: str = ""


class HeadChoice(Struct, frozen=True, kw_only=True):
    """The head to send, what is different around the session now, and the event that a new head is."""

    head: Head
    changes: tuple[Change, ...] = ()
    events: tuple[PrefixEvent, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class Difference(Struct, frozen=True, kw_only=True):
    """One way in which the rebuilt prefix is not what was sent. `entry` is the last entry up to which both agree."""

    what: str
    cause: str
    entry: str | None = None
    name: EventName = EventName.COLD_CLEAN


class Proof(Struct, frozen=True, kw_only=True):
    """The digest of the last answered request's prefix view as recorded and as rebuilt; both `None` when none was sent."""

    recorded: str | None = None
    rebuilt: str | None = None
    differences: tuple[Difference, ...] = ()

    @property
    def holds(self) -> bool:
        return self.recorded == self.rebuilt


class Resumed(Struct, frozen=True, kw_only=True):
    """A history as a prefix, and its proof."""

    prefix: Prefix
    proof: Proof


def recorded_digest(history: History) -> str | None:
    """The digest of the head to replay; `None` when nothing was answered yet."""
    settled = last_settled(history.journal)
    return None if settled is None else settled.record.head_digest


def restore_history(history: History) -> History:
    """The history without stored notes that must not be taken up again (R337, R338), with a word on each."""
    restored = restore_attachments(history.path.entries)
    path = msgspec.structs.replace(history.path, entries=restored.entries)
    return msgspec.structs.replace(history, path=path, diagnostics=(*history.diagnostics, *restored.diagnostics))


def judge_head(recorded: Recorded, wire: WireContext) -> Recorded:
    """The recorded head with its problem when the service would refuse it: a name or schema in it that no request may hold (F10, F11)."""
    if recorded.parts is None:
        return recorded
    own = tuple(tool for tool in recorded.parts.tools if not tool.definition.deferred)
    found = check_regions(compile_head(msgspec.structs.replace(recorded.parts, tools=own)), wire)
    broken = next((one for one in found if one.severity is Severity.ERROR), None)
    if broken is None:
        return recorded
    problem = f"the recorded head would be refused: {broken.message} at {broken.path} ({broken.rule})"
    return msgspec.structs.replace(recorded, problem=problem)


def choose_head(planned: HeadParts, recorded: Recorded | None, *, replays: bool) -> HeadChoice:
    """The recorded head where it can be had and is wanted, else a new one: that is a prefix event with its cause."""
    if recorded is None:
        return HeadChoice(head=compile_head(planned))
    changes = () if recorded.parts is None else head_changes(recorded.parts, planned)
    if replays and recorded.parts is not None and not recorded.problem:
        return HeadChoice(
            head=compile_head(recorded.parts), changes=changes, diagnostics=tuple(map(_kept_note, changes))
        )
    head = compile_head(planned)
    if head.digest == recorded.digest:
        again = Diagnostic("resume.head", f"{recorded.problem}; the same head was compiled again", step=STEP)
        return HeadChoice(head=head, diagnostics=(again,) if recorded.problem else ())
    cause = "the setting compositor.resumeHead asks for it" if not recorded.problem else recorded.problem
    named = "".join(f"; {change.describe()}" for change in changes)
    return HeadChoice(
        head=head,
        events=(PrefixEvent(name=EventName.HEAD_REBUILD, cause=cause),),
        diagnostics=(Diagnostic("resume.head", f"The head was compiled anew: {cause}{named}", step=STEP),),
    )


def latched_options(options: RequestOptions, history: History) -> tuple[RequestOptions, tuple[Diagnostic, ...]]:
    """Lifetime, betas and cache edits as they were first sent (R265, R275): a value that changed since then would cost the prefix."""
    sent = last_send(history.journal)
    if sent is None or sent.record.options.model != options.model:
        return options, ()
    recorded = sent.record.options
    kept = [name for name in LATCHED if getattr(options, name) != getattr(recorded, name)]
    notes = tuple(
        _info(f"{name} stays {getattr(recorded, name)!r} as it was sent; it would be {getattr(options, name)!r} now")
        for name in kept
    )
    return msgspec.structs.replace(options, **{name: getattr(recorded, name) for name in LATCHED}), notes


LATCHED = ("ttl", "betas", "context_management", "scopes")
"""Options that stay as they were first sent until a reset (R263, R265, R275)."""


def model_switch(history: History, model: str) -> tuple[PrefixEvent, ...]:
    """The event that another model than that of the last request is."""
    sent = last_send(history.journal)
    if sent is None or sent.record.options.model == model:
        return ()
    return (PrefixEvent(name=EventName.MODEL_SWITCH, cause=f"{sent.record.options.model} before, {model} now"),)


def replayed_facts(facts: Facts, journal: Journal) -> tuple[Facts, ...]:
    """The facts with what the journal froze: lanes of what was answered, latches and refused images (R222, R224, F06).

    More than one reading where the journal does not tell whether a degrade rewrote what had settled; the digest of the last request does.
    """
    sent = last_send(journal)
    return (facts,) if sent is None else _readings(facts, journal, sent.record, {})


def sent_facts(facts: Facts, journal: Journal, record: SendRecord) -> tuple[Facts, ...]:
    """The facts under which one recorded request was compiled: beside what was frozen, the lanes it chose itself. Read as `replayed_facts`."""
    scoped = facts_under(facts, record.options.betas)
    return _readings(scoped, journal, record, {sent.entry: sent.lane for sent in record.sent})


def _readings(facts: Facts, journal: Journal, record: SendRecord, own: Mapping[str, Lane]) -> tuple[Facts, ...]:
    latches = frozenset(record.latches)
    settled = settled_lanes(journal)
    readings = [settled]
    if latches and any(event.name is EventName.PROVIDER_DEGRADE for event in journal.events):
        # If the refusal reached what was settled, that was rewritten then: a reminder or a plain system message since.
        void = {Lane.API_SYSTEM, Lane.TURN_SYSTEM} if Latch.SYSTEM_LANE in latches else {Lane.TURN_SYSTEM}
        readings.insert(0, {entry: lane for entry, lane in settled.items() if lane not in void})
    gone = {"refused_images": frozenset(record.refused_images), "cleared": frozenset(record.cleared)}
    return tuple(msgspec.structs.replace(facts, lanes={**lanes, **own}, latches=latches, **gone) for lanes in readings)


def rebuild_prefix(empty: Prefix, history: History) -> Resumed:
    """The prefix of the history, compared on the way with the last request that was answered."""
    readings = replayed_facts(empty.facts, history.journal)
    starts = [msgspec.structs.replace(empty, facts=facts) for facts in readings]
    entries = history.path.entries
    sent = _comparable(history.journal.sends, entries)
    if not sent:
        return Resumed(prefix=_ended(extend(starts[0], entries), history), proof=Proof())
    last, cut = sent[-1]
    tries = [(start, extend(start, entries[:cut])) for start in starts]
    proved = (one for one in tries if one[1].view_digest == last.record.view_digest)
    empty, at_last = next(proved, tries[0])
    rebuilt, record = at_last.view_digest, last.record
    differences = () if rebuilt == record.view_digest else (_difference(empty, sent, history),)
    return Resumed(
        prefix=_ended(extend(at_last, entries[cut:]), history),
        proof=Proof(recorded=record.view_digest, rebuilt=rebuilt, differences=differences),
    )


def proof_notes(proof: Proof, events: Sequence[PrefixEvent]) -> tuple[tuple[PrefixEvent, ...], tuple[Diagnostic, ...]]:
    """What a proof that does not hold is: told, and a prefix event unless one was named already.

    Notes that changed their lane are an event of their own, beside that of a new model (law 2).
    """
    if proof.recorded is None:
        return (), ()
    if proof.holds:
        return (), (_info("What is sent begins with the bytes of the last request", where=proof.recorded[:12]),)
    notes = tuple(
        Diagnostic("resume.differs", f"{one.what}: {one.cause}", where=one.entry or "", step=STEP)
        for one in proof.differences
    )
    first = proof.differences[0]
    if events and first.name is EventName.COLD_CLEAN:
        return (), notes
    return (PrefixEvent(name=first.name, cause=f"{first.what}: {first.cause}", entry=first.entry),), notes


def news_entries(
    planned: HeadParts,
    choice: HeadChoice,
    history: History,
    stamp: Callable[[], Stamp],
    files: Sequence[TextAttachment] = (),
) -> tuple[AttachmentEntry, ...]:
    """What the model was not told yet, as notes behind the history, each naming the one before it.

    A new head says all but what became of `files`.
    """
    attachments = (entry.attachment for entry in history.path.entries if isinstance(entry, AttachmentEntry))
    told = [one for one in attachments if isinstance(one, TextAttachment)]
    parent = history.path.tip
    entries: list[AttachmentEntry] = []
    around = () if choice.events else (*news_notes(choice.changes, told), *back_notes(planned, choice.changes, told))
    for note in (*around, *files):
        mark = stamp()
        entries.append(AttachmentEntry(uuid=mark.uuid, parent=parent, time=mark.time, attachment=note))
        parent = mark.uuid
    return tuple(entries)


def _ended(prefix: Prefix, history: History) -> Prefix:
    """The next entry hangs on the tip, which may be a marker that is not sent."""
    return msgspec.structs.replace(prefix, leaf=history.path.tip)


def _comparable(sends: Sequence[Send], entries: Sequence[TranscriptEntry]) -> list[tuple[Send, int]]:
    """The answered requests whose newest entry lies on the path, and how many entries of it they held."""
    places = {entry.uuid: place for place, entry in enumerate(entries, start=1)}
    found: list[tuple[Send, int]] = []
    for send in sends:
        ends = [send.record.leaf, *(sent.entry for sent in reversed(send.record.sent))]
        place = next((places[uuid] for uuid in ends if uuid in places), None)
        if send.settled and place is not None:
            found.append((send, place))
    return found


def _difference(empty: Prefix, sent: Sequence[tuple[Send, int]], history: History) -> Difference:
    """Where and why the rebuilt prefix leaves what was sent: the first answered request that does not come out again."""
    last = sent[-1][0].record
    if last.head_digest != empty.head.digest:
        return Difference(what="the head", cause="it was compiled anew")
    if _lanes_moved(empty, history.path.entries[: sent[-1][1]], last):
        takes = "takes" if empty.facts.system_role else "takes no"
        cause = f"{empty.facts.model} on this platform {takes} system messages as they were sent (L30, L38)"
        return Difference(what="the lane of notes", cause=cause, name=EventName.PROVIDER_DEGRADE)
    if last.options.model != empty.facts.model:
        return Difference(what="the messages", cause="the model was changed, and thinking is replayed to its own model")
    entries, prefix, good = history.path.entries, empty, None
    for send, cut in sent:
        prefix = extend(empty, entries[:cut])
        if prefix.view_digest != send.record.view_digest:
            break
        good = send.record.leaf
    left_out = list(dict.fromkeys(one.reason for one in (*prefix.omissions, *prefix.tail.omissions)))
    if history.damaged:
        cause = f"{len(history.damaged)} damaged lines of the file were skipped"
    elif history.path.summarized and good is None:
        cause = "the conversation was compacted since then"
    elif any("R423" in reason for reason in left_out):
        cause = "thinking whose prefix changed is left out (R423)"
    else:
        program = history.header.program if history.header is not None else ""
        cause = f"this program renders it otherwise than {program or 'the one that sent it'}"
    behind = "from the first message on" if good is None else f"the messages behind entry {good!r}"
    return Difference(what=behind, cause=cause, entry=good)


def _lanes_moved(empty: Prefix, entries: Sequence[TranscriptEntry], record: SendRecord) -> bool:
    """Whether the request comes out as it was sent once system messages are what they were then, and only so."""
    now = msgspec.structs.replace(empty.facts, model=record.options.model)
    sent = facts_under(now, record.options.betas)
    then = (msgspec.structs.replace(sent, system_role=role) for role in (True, False))
    wire = msgspec.structs.replace(empty.wire, system_role=None)

    def digest(facts: Facts) -> str:
        return extend(msgspec.structs.replace(empty, facts=facts, wire=wire), entries).view_digest

    return digest(now) != record.view_digest and any(digest(facts) == record.view_digest for facts in then)


def _kept_note(change: Change) -> Diagnostic:
    return _info(f"{change.describe()} since the session was begun; the recorded one is sent", where=change.place)


def _info(message: str, where: str = "") -> Diagnostic:
    return Diagnostic("resume.kept", message, where=where, severity=Severity.INFO, step=STEP)
