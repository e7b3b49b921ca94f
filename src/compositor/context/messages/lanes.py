"""Lanes: how dynamic context is carried inside the conversation.

Decides how each shape of attachment reads inside the reminder envelope (R362). A tag creates no authority (R357): what a message is
follows from the entry it came from. First form: every attachment travels as a reminder inside a user message.
"""

from __future__ import annotations

from compositor.context.prompt.envelope import REMINDER_CLOSING, REMINDER_OPENING, neutralize_text
from compositor.types.attachments import Attachment, TextAttachment, UnknownAttachment
from compositor.types.instructions import EnforcementPower, Instruction, InstructionClass, ModelAuthority, Region

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


def render_attachment(attachment: Attachment) -> str | None:
    """The text of an attachment inside its envelope; `None` for a kind that nobody here can render."""
    match attachment:
        case TextAttachment(text=text):
            return reminder(text)
        case UnknownAttachment():
            return None


def reminder(text: str) -> str:
    """Wrap `text` so that nothing inside it can close or reopen the wrapper."""
    return f"{REMINDER_OPENING}{neutralize_text(text)}{REMINDER_CLOSING}"
