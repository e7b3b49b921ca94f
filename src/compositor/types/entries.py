"""Transcript entries: the five message kinds (R159) and an unknown door, as values of the session, not of its file.

Decides what an entry holds. The file format is another matter, versioned and owned by `context/transcript/codec.py`.
Times are ISO 8601 strings in UTC; ids are opaque strings, unique within a session.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Raw, Struct

from .attachments import Attachment
from .blocks import ContentBlock
from .usage import Usage


class Origin(enum.StrEnum):
    """Who spoke (R355). Only the client sets it; no text can."""

    HUMAN = "human"
    CHANNEL = "channel"
    PEER = "peer"
    TASK_NOTIFICATION = "task_notification"
    OBSERVER = "observer"
    UNCLASSIFIED = "unclassified"


class UserEntry(Struct, frozen=True, kw_only=True):
    """Typed input, tool results or rendered text. `is_meta`: the model sees it, the user does not (R165)."""

    uuid: str
    parent: str | None
    time: str
    content: tuple[ContentBlock, ...]
    origin: Origin = Origin.HUMAN
    is_meta: bool = False


class AssistantEntry(Struct, frozen=True, kw_only=True):
    """One answer of the model, whole.

    `stop_reason` is `None` while the answer is unfinished: such an entry is never sent (R173). `prefix_digest` is the
    digest of the prefix view that produced it (R423), `None` where it is not known.
    """

    uuid: str
    parent: str | None
    time: str
    message_id: str
    model: str
    content: tuple[ContentBlock, ...]
    stop_reason: str | None
    usage: Usage | None = None
    prefix_digest: str | None = None


class AttachmentEntry(Struct, frozen=True, kw_only=True):
    """Dynamic context as a typed record; rendered to messages only before sending."""

    uuid: str
    parent: str | None
    time: str
    attachment: Attachment


class MarkerEntry(Struct, frozen=True, kw_only=True):
    """An internal state of the session (a compact boundary, a notice). Never sent (R160, R168)."""

    uuid: str
    parent: str | None
    time: str
    subtype: str
    detail: Raw


class ProgressEntry(Struct, frozen=True, kw_only=True):
    """A sign of life for the person watching. Never stored, never sent (R160, R161)."""

    uuid: str
    parent: str | None
    time: str
    text: str


class UnknownEntry(Struct, frozen=True, kw_only=True):
    """An entry of a kind the product does not know; loaded, kept, never sent."""

    uuid: str
    parent: str | None
    time: str
    type: str
    raw: Raw


TranscriptEntry: TypeAlias = UserEntry | AssistantEntry | AttachmentEntry | MarkerEntry | ProgressEntry | UnknownEntry
