"""Attachments: dynamic context as typed records, with an unknown door.

Decides the closed set of payload shapes. Which kinds exist, when they are collected and how each is rendered is the
business of `context/attachments`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from .blocks import ContentBlock
from .origin import Origin

TOOL_ADDITION = "tool_addition"
"""The kind of a note whose text is the names of deferred tools, one a line, that come into view without a search (wire page 6)."""


class TextAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="text", omit_defaults=True):
    """A note of a known kind. `path` and `line` name the file it speaks of, where it speaks of one.

    `name` is what it speaks for where its kind has several: a section, a memory level.
    """

    kind: str
    text: str
    path: str | None = None
    line: int | None = None
    name: str = ""


class FileAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="file", omit_defaults=True):
    """Lines of a file: `text` as it stands there, from line `first` on (from 1), of `total` lines in all. `named` is how it was asked for."""

    kind: str
    path: str
    text: str
    first: int = 1
    total: int = 0
    named: str = ""


class DiffAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="diff", omit_defaults=True):
    """A change of a file: hunks as text, or why they are left out; `added` and `removed` count lines."""

    kind: str
    path: str
    diff: str = ""
    left_out: str = ""
    added: int = 0
    removed: int = 0


class ListingAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="listing", omit_defaults=True):
    """Names that were found at a place, a line each: the first of `total`. `named` is how it was asked for."""

    kind: str
    path: str
    names: tuple[str, ...]
    total: int
    named: str = ""


class MediaAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="media", omit_defaults=True):
    """What is no plain text: an image, pages, a notebook. `content` are blocks of the wire."""

    kind: str
    content: tuple[ContentBlock, ...]
    path: str = ""
    named: str = ""


class QueuedInput(Struct, frozen=True, kw_only=True, tag_field="shape", tag="queued_input", omit_defaults=True):
    """Something said to the agent while it was busy. What a person said stays a prompt; all else is a note (R211, R422)."""

    kind: str
    text: str
    origin: Origin


class UnknownAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="unknown"):
    """A kind or shape that the product does not know; loaded, kept, never sent."""

    kind: str
    raw: Raw


Attachment: TypeAlias = (
    TextAttachment
    | FileAttachment
    | DiffAttachment
    | ListingAttachment
    | MediaAttachment
    | QueuedInput
    | UnknownAttachment
)
