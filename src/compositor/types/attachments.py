"""Attachments: dynamic context as typed records, with an unknown door.

Decides the closed set of payload shapes. Which kinds exist, when they are collected and how each is rendered is the
business of `context/attachments`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from .origin import Origin


class TextAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="text", omit_defaults=True):
    """A note of a known kind. `path` and `line` name the file it speaks of, where it speaks of one.

    `name` is what it speaks for where its kind has several: a section, a memory level.
    """

    kind: str
    text: str
    path: str | None = None
    line: int | None = None
    name: str = ""


class QueuedInput(Struct, frozen=True, kw_only=True, tag_field="shape", tag="queued_input", omit_defaults=True):
    """Something said to the agent while it was busy. What a person said stays a prompt; all else is a note (R211, R422)."""

    kind: str
    text: str
    origin: Origin


class UnknownAttachment(Struct, frozen=True, kw_only=True, tag_field="shape", tag="unknown"):
    """A kind or shape that the product does not know; loaded, kept, never sent."""

    kind: str
    raw: Raw


Attachment: TypeAlias = TextAttachment | QueuedInput | UnknownAttachment
