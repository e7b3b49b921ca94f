"""A session begins or goes on: the stored head and the files that were seen, brought to the rules of `loop/resume.py`.

Decides only the order: head, history behind it, and behind that what is new (R347). What each of them is, is decided there.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.adapters.ids import UuidSource
from compositor.adapters.modified import modified_times
from compositor.config.contract import RunContract
from compositor.config.options import facts_under, request_facts
from compositor.context.freshness.read_state import changed_notes, seen_files
from compositor.context.messages.legality import WireContext
from compositor.context.prefix import empty_prefix
from compositor.context.prompt.compute import SectionMemo
from compositor.context.transcript.history import History
from compositor.errors import TranscriptFormatError
from compositor.loop.offering import with_recorded_tools
from compositor.loop.opening import Surroundings, plan_head, refuse_oversize, scoped_options, wire_context
from compositor.loop.resume import (
    Recorded,
    choose_head,
    judge_head,
    latched_options,
    model_switch,
    news_entries,
    proof_notes,
    rebuild_prefix,
    recorded_digest,
    restore_history,
)
from compositor.loop.session import Conversation, Stamp, record
from compositor.ports import Clock
from compositor.types.diagnostics import Diagnostic
from compositor.types.entries import TranscriptEntry
from compositor.types.request import RequestOptions
from compositor.types.snapshot import Facts, PrefixEvent

from .heads import HeadStore


class Begun(Struct, frozen=True, kw_only=True):
    """The conversation that a session begins or goes on with. `events` and `news` are in it and not stored yet; `memo` is what the planned head remembers."""

    conversation: Conversation
    memo: SectionMemo
    events: tuple[PrefixEvent, ...] = ()
    news: tuple[TranscriptEntry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def begin_session(
    contract: RunContract, around: Surroundings, history: History | None, home: Path, clock: Clock
) -> Begun:
    """A new conversation, or that of `history` with its recorded head and what is new behind it."""
    made = plan_head(contract, around)
    planned = made.parts
    options = scoped_options(contract, is_debugged=around.is_debugged)
    if history is None:
        head = choose_head(planned, None, replays=True).head
        refuse_oversize(head, contract)
        prefix = empty_prefix(head, _facts(contract, options), _wire(contract, options))
        conversation = Conversation(prefix=prefix, options=options)
        return Begun(conversation=conversation, memo=made.memo, diagnostics=(made.choice,))
    options, kept = latched_options(options, history)
    wire = _wire(contract, options)
    replays = contract.settings.compositor.resume_head == "replay"
    choice = choose_head(planned, _recorded(history, home, wire), replays=replays)
    head = with_recorded_tools(choice.head, history.path.markers, wire)
    refuse_oversize(head, contract)
    history = restore_history(history)
    events = (*choice.events, *model_switch(history, contract.model))
    resumed = rebuild_prefix(empty_prefix(head, _facts(contract, options), wire, events), history)
    proved, proof = proof_notes(resumed.proof, events)
    prefix = msgspec.structs.replace(resumed.prefix, events=(*events, *proved))
    ids = UuidSource()
    seen = seen_files(history.path.entries, around.cwd)
    changed = changed_notes(seen, modified_times(seen))
    news = news_entries(planned, choice, history, lambda: Stamp(ids.new(), clock.now()), changed)
    return Begun(
        conversation=record(Conversation(prefix=prefix, options=options), news),
        memo=made.memo,
        events=(*events, *proved),
        news=news,
        diagnostics=(*history.diagnostics, *choice.diagnostics, *kept, *proof),
    )


def _wire(contract: RunContract, options: RequestOptions) -> WireContext:
    return wire_context(contract.profile, contract.platform, api_version=contract.api_version, betas=options.betas)


def _facts(contract: RunContract, options: RequestOptions) -> Facts:
    """The facts of the contract under the betas that are really sent."""
    return facts_under(request_facts(contract), options.betas if contract.system_role else ())


def _recorded(history: History, home: Path, wire: WireContext) -> Recorded | None:
    """The recorded head, with the reason when it cannot be had or sent; a head that is lost or damaged costs only itself."""
    digest = recorded_digest(history)
    if digest is None:
        return None
    try:
        parts = HeadStore(home).get(digest)
    except TranscriptFormatError as error:
        return Recorded(digest=digest, problem=error.message)
    problem = "" if parts is not None else f"the recorded head {digest[:12]} is not stored any more"
    return judge_head(Recorded(digest=digest, parts=parts, problem=problem), wire)
