"""Messages on their way to the wire: a role and parts, each part a block with its attribution.

Decides the shape between transcript and bytes. A `WireMessage` cannot be appended to a transcript (R148): the transcript
holds entries (`entries.py`).
"""

from __future__ import annotations

import enum

from msgspec import Struct

from .blocks import ContentBlock
from .provenance import Attribution, Runs

TURN_SCOPED = "next_user_message"
"""The `clear_at` of a system message that the service shows until the next user message (wire page 2.1)."""


class Role(enum.StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class Part(Struct, frozen=True, gc=False):
    """One block and where it comes from.

    `runs` is set for a text block that several fragments share: run lengths in bytes of its JSON-escaped text. `notes` is set for
    a tool result whose last content items are notes of the client: the origin of each of them (R232, R233).
    """

    block: ContentBlock
    origin: Attribution
    runs: Runs | None = None
    notes: tuple[Attribution, ...] = ()


class WireMessage(Struct, frozen=True, gc=False):
    """One entry of the request's `messages`, without any cache marker.

    `clear_at` makes a system message turn-scoped: the service shows it until the next user message (wire page 2.1).
    """

    role: Role
    parts: tuple[Part, ...]
    clear_at: str | None = None
