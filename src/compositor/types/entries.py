"""Transcript entries: the five message kinds (R159) and an unknown door, as values of the session, not of its file.

Decides what an entry holds. The file format is another matter, versioned and owned by `context/transcript/codec.py`.
Times are ISO 8601 strings in UTC; ids are opaque strings, unique within a session. `extra` holds the fields of a stored
record that this version does not know, as one JSON object: they are written back with it.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from .attachments import Attachment
from .blocks import ContentBlock
from .json import EMPTY_OBJECT
from .origin import Origin as Origin  # noqa: PLC0414 - entries are where most readers look for it
from .usage import Usage


class UserEntry(Struct, frozen=True, kw_only=True, gc=False):
    """Typed input, tool results or rendered text. `is_meta`: the model sees it, the user does not (R165)."""

    uuid: str
    parent: str | None
    time: str
    content: tuple[ContentBlock, ...]
    origin: Origin = Origin.HUMAN
    is_meta: bool = False
    extra: Raw = EMPTY_OBJECT


class AssistantEntry(Struct, frozen=True, kw_only=True, gc=False):
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
    extra: Raw = EMPTY_OBJECT


class AttachmentEntry(Struct, frozen=True, kw_only=True):
    """Dynamic context as a typed record; rendered to messages only before sending."""

    uuid: str
    parent: str | None
    time: str
    attachment: Attachment
    extra: Raw = EMPTY_OBJECT


class MarkerEntry(Struct, frozen=True, kw_only=True):
    """An internal state of the session (a compact boundary, a notice). Never sent (R160, R168)."""

    uuid: str
    parent: str | None
    time: str
    subtype: str
    detail: Raw
    extra: Raw = EMPTY_OBJECT


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
