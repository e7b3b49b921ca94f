"""Lanes: how dynamic context is carried inside the conversation.

Decides which lane a note takes (R219 to R229), how it reads there (R209 to R213), and that its lane is frozen once it was sent. A tag creates no
authority (R357): what a message is follows from the entry it came from and from nothing that its text says. Only this file makes the
content of system messages, and only out of kinds whose every word is the client's own (R228).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compositor.context.attachments.table import wished_lane
from compositor.context.prompt.envelope import REMINDER_CLOSING, REMINDER_OPENING, neutralize_text
from compositor.context.view import block_references
from compositor.types.attachments import TOOL_ADDITION, Attachment, QueuedInput
from compositor.types.blocks import ContentBlock, TextBlock
from compositor.types.entries import AttachmentEntry
from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region
from compositor.types.messages import Part
from compositor.types.origin import Origin
from compositor.types.provenance import Attribution, Lane, Lifetime, Source
from compositor.types.request import Chunk
from compositor.types.snapshot import Facts, Latch

NOTE_INSTRUCTION = Instruction(
    name="attachment.note",
    kind=InstructionClass.REMINDER,
    producer="context/messages/lanes.py",
    region=Region.MESSAGES,
    form="text in a user message, in a reminder envelope",
    authority=ModelAuthority.DATA,
    power=EnforcementPower.NONE,
    why_here="what changed: facts of this moment, at the tail",
)
SYSTEM_NOTE_INSTRUCTION = Instruction(
    name="attachment.system_note",
    kind=InstructionClass.MID_SYSTEM,
    producer="context/messages/lanes.py",
    region=Region.MESSAGES,
    form="text in a system message behind the user message",
    authority=ModelAuthority.OPERATOR,
    power=EnforcementPower.NONE,
    why_here="the client's own word on mode, date and budget, where model and platform take it (R219)",
)

SYSTEM_LANES = (Lane.API_SYSTEM, Lane.TURN_SYSTEM)
_NOTE_LANES = (Lane.REMINDER, *SYSTEM_LANES)


class ChosenLane(Struct, frozen=True):
    """A lane and a sentence fragment that says why (R229)."""

    lane: Lane
    why: str


def choose_lane(entry: AttachmentEntry, facts: Facts) -> ChosenLane:
    """The carrier of a note: as it was sent before, else by kind, model, platform and what the service has refused."""
    attachment = entry.attachment
    if isinstance(attachment, QueuedInput) and attachment.origin is Origin.HUMAN:
        return ChosenLane(Lane.CONVERSATION, "a person said it")
    frozen = facts.lanes.get(entry.uuid)
    if frozen in _NOTE_LANES and _can_carry(frozen, facts, attachment):
        return ChosenLane(frozen, "as at its first send (R222)")
    wished = Lane.REMINDER if isinstance(attachment, QueuedInput) else wished_lane(attachment.kind)
    if wished is Lane.REMINDER:
        return ChosenLane(Lane.REMINDER, f"{attachment.kind!r} may carry words that are not the client's")
    if not facts.system_role:
        return ChosenLane(Lane.REMINDER, "model or platform has no system role inside messages (L30)")
    if attachment.kind == TOOL_ADDITION and not facts.tool_changes:
        return ChosenLane(Lane.REMINDER, "model or platform takes no tool changes inside messages (L45)")
    if Latch.SYSTEM_LANE in facts.latches:
        return ChosenLane(Lane.REMINDER, "the service refused a system message in this session (R222)")
    if wished is Lane.TURN_SYSTEM and (not facts.turn_scoped or Latch.TURN_SCOPE in facts.latches):
        return ChosenLane(Lane.API_SYSTEM, "the client's own word; turn-scoped messages are not to be had (L38)")
    return ChosenLane(wished, "the client's own word")


def _can_carry(lane: Lane, facts: Facts, attachment: Attachment) -> bool:
    """Whether model and platform take the lane at all: a session may go on with others (L30, L38, L45)."""
    if attachment.kind == TOOL_ADDITION and lane is Lane.API_SYSTEM and not facts.tool_changes:
        return False
    if lane is Lane.TURN_SYSTEM:
        return facts.system_role and facts.turn_scoped
    return facts.system_role or lane is Lane.REMINDER


def note_part(entry: AttachmentEntry, block: ContentBlock, chosen: ChosenLane) -> Part:
    """A block of a note as it stands in its lane: text in the envelope inside a user message, bare otherwise."""
    origin = Attribution(Source("entry", entry.uuid), chosen.lane, Lifetime.CONVERSATION, chosen.why)
    if isinstance(block, TextBlock) and chosen.lane is Lane.REMINDER:
        block = TextBlock(reminder(block.text))
    return Part(block, origin)


def searchable(names: Iterable[str]) -> str:
    """What an addition of tools says where none can be added."""
    return f"These tools can be loaded with a tool search: {', '.join(names)}"


def as_reminder(part: Part, why: str) -> Part:
    """A note of the system lane as a reminder, for want of a place where a system message may stand."""
    text = part.block.text if isinstance(part.block, TextBlock) else searchable(block_references(part.block))
    origin = Attribution(part.origin.source, Lane.REMINDER, part.origin.lifetime, why)
    return Part(TextBlock(reminder(text)), origin)


def reminder(text: str) -> str:
    """Wrap `text` so that nothing inside it can close or reopen the wrapper."""
    return f"{REMINDER_OPENING}{neutralize_text(text)}{REMINDER_CLOSING}"


def lanes_of(chunks: Iterable[Chunk]) -> dict[str, Lane]:
    """Entry id to the lane that carries it in these messages: what the send journal records (R222, R424)."""
    lanes: dict[str, Lane] = {}
    for chunk in chunks:
        for part in chunk.message.parts if chunk.message is not None else ():
            for origin in (part.origin, *part.notes):
                if origin.source.kind == "entry":
                    lanes.setdefault(origin.source.name, origin.lane)
    return lanes
