"""Rounds, from entries to bytes: steps, rules, set-aside, encoding, digest.

Decides in which order these look at a round, and that a round is made legal here or says why it is not (law 1); plain rounds in a row go the short
way together. Knows of the settled past only what `Before` carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec
from msgspec import Struct

from compositor.context.view import ViewState
from compositor.context.wire.canonical import encode_messages
from compositor.types.diagnostics import Severity
from compositor.types.entries import TranscriptEntry
from compositor.types.messages import WireMessage
from compositor.types.provenance import Omission
from compositor.types.request import Chunk, Head
from compositor.types.snapshot import Facts

from .drafts import Notes, RoundContext
from .legality import LegalityState, Violation, WireContext, check_images, check_messages
from .legality.plain import after_plain, takes_plain
from .plain import plain_run
from .setaside import set_aside, set_newest_image_aside
from .steps import render_round

MOST = 256
"""Plain rounds that are compiled together: enough that what it costs to begin does not count, few enough that a large body is not held twice."""


class Before(Struct, frozen=True, kw_only=True):
    """What stands before a round, as the values that its rendering needs. `tools` are the names that the head declares."""

    head: Head
    tools: frozenset[str]
    facts: Facts
    wire: WireContext
    legality: LegalityState
    view: ViewState


class Rendered(Struct, frozen=True, kw_only=True):
    """Rounds as they go out, and what stands behind them. `violations` break a wire rule all the same.

    `rounds` holds the chunks of each, `views` the view behind each. Several are always plain ones, so `legality.images` is true behind each.
    """

    rounds: tuple[tuple[Chunk, ...], ...]
    views: tuple[ViewState, ...]
    legality: LegalityState
    omissions: tuple[Omission, ...] = ()
    violations: tuple[Violation, ...] = ()


def render_all(before: Before, rounds: Sequence[Sequence[TranscriptEntry]]) -> Iterator[Rendered]:
    """All rounds in order; the plain ones among them, as many as follow one another, at once."""
    done = 0
    while done < len(rounds):
        rendered = _render_plain(before, islice(rounds, done, done + MOST)) or _render_one(before, rounds[done])
        done += len(rendered.rounds)
        yield rendered
        before = msgspec.structs.replace(before, legality=rendered.legality, view=rendered.views[-1])


def _render_plain(before: Before, rounds: Iterator[Sequence[TranscriptEntry]]) -> Rendered | None:
    """The plain rounds that come first; `None` where the first is not plain."""
    if before.facts.cleared or not takes_plain(before.legality):
        return None
    run = plain_run(before.legality.call_ids, rounds, opens=before.legality.index == 0)
    if not run.rounds:
        return None
    encoded = iter(encode_messages(list(chain.from_iterable(run.rounds))))
    chunks = tuple([tuple(islice(encoded, len(messages))) for messages in run.rounds])
    view = before.view
    views = tuple([view := view.add(one, before.head) for one in chunks])
    return Rendered(rounds=chunks, views=views, legality=after_plain(before.legality, run.rounds, run.calls))


def _render_one(before: Before, entries: Sequence[TranscriptEntry]) -> Rendered:
    """What still breaks a rule after the steps is set aside, newest first; of too many images the newest (L141, L143)."""
    notes = Notes()
    context = RoundContext(
        facts=before.facts,
        opens=before.legality.index == 0,
        after_system=before.legality.section is not None,
        tools=before.tools,
        used_ids=before.legality.call_ids,
        view_digest=lambda: before.view.digest,
    )
    messages = render_round(context, entries, notes)
    after, violations = check_messages(before.legality, messages, before.wire)
    while errors := [violation for violation in violations if violation.severity is Severity.ERROR]:
        smaller = set_aside(messages, before.legality.index, errors[-1], notes)
        if smaller == messages:
            break
        messages = smaller
        after, violations = check_messages(before.legality, messages, before.wire)
    if after.images > before.legality.images:
        messages, after = _without_excess_images(before, messages, after, notes)
    chunks = encode_messages(messages) if messages else ()
    return Rendered(
        rounds=(chunks,),
        views=(before.view.add(chunks, before.head),),
        legality=after,
        omissions=tuple(notes.omissions),
        violations=violations,
    )


def _without_excess_images(
    before: Before, messages: tuple[WireMessage, ...], after: LegalityState, notes: Notes
) -> tuple[tuple[WireMessage, ...], LegalityState]:
    while excess := check_images(after, before.wire):
        reason = f"{excess[-1].message} ({excess[-1].rule})"
        smaller = set_newest_image_aside(messages, reason, notes)
        if smaller == messages:
            break
        messages = smaller
        after, _ = check_messages(before.legality, messages, before.wire)
    return messages, after
