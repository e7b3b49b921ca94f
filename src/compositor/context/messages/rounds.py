"""One round, from entries to bytes: steps, rules, set-aside, encoding, digest.

Decides in which order these look at a round, and that a round is made legal here or says why it is not (law 1). Knows of the settled past only
what `Before` carries.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compositor.context.view import ViewState
from compositor.context.wire.canonical import encode_messages
from compositor.types.diagnostics import Severity
from compositor.types.entries import TranscriptEntry
from compositor.types.messages import WireMessage
from compositor.types.persistent import Ledger
from compositor.types.provenance import Omission
from compositor.types.request import Chunk, Head
from compositor.types.snapshot import Facts

from .drafts import Notes, RoundContext
from .legality import LegalityState, Violation, WireContext, check_images, check_messages
from .plain import plain_round
from .setaside import set_aside, set_newest_image_aside
from .steps import render_round


class Before(Struct, frozen=True, kw_only=True):
    """What stands before a round, as the values that its rendering needs. `tools` are the names that the head declares."""

    head: Head
    tools: frozenset[str]
    facts: Facts
    wire: WireContext
    used_ids: Ledger[str]
    legality: LegalityState
    view: ViewState


class Rendered(Struct, frozen=True, kw_only=True):
    """A round as it goes out, and the states behind it. `violations` break a wire rule all the same."""

    chunks: tuple[Chunk, ...]
    legality: LegalityState
    view: ViewState
    omissions: tuple[Omission, ...]
    violations: tuple[Violation, ...]


def render(before: Before, entries: Sequence[TranscriptEntry]) -> Rendered:
    """What still breaks a rule after the steps is set aside, newest first; of too many images the newest (L141, L143)."""
    notes = Notes()
    view = before.view
    context = RoundContext(
        facts=before.facts,
        opens=before.legality.index == 0,
        after_system=before.legality.section is not None,
        tools=before.tools,
        used_ids=before.used_ids,
        view_digest=lambda: view.digest,
    )
    messages = None if before.facts.cleared else plain_round(context, entries)
    if messages is None:
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
        chunks=chunks,
        legality=after,
        view=view.add(chunks, before.head),
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
