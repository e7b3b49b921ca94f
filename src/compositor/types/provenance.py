"""Where a piece of a request comes from, which lane carried it, how long it lives, and which gate let it in (R015).

Decides the vocabulary of attribution. Model-visible text exists only as a `Fragment` with a `Source`. Never renders.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Struct


class Lane(enum.StrEnum):
    """The carrier of a piece inside a request.

    `API_SYSTEM` is a system message inside `messages`, `TURN_SYSTEM` one that the service shows until the next user message.
    """

    TOOLS = "tools"
    SYSTEM = "system"
    USER_CONTEXT = "user_context"
    CONVERSATION = "conversation"
    REMINDER = "reminder"
    API_SYSTEM = "api_system"
    TURN_SYSTEM = "turn_system"
    SCALAR = "scalar"
    WIRE = "wire"


class Lifetime(enum.IntEnum):
    """How long a piece stays the same, slowest first. Within a region of the request it never decreases (law 5)."""

    RELEASE = 0
    SESSION = 1
    CONVERSATION = 2
    TURN = 3


class Source(Struct, frozen=True, omit_defaults=True, gc=False):
    """The one origin of a piece. `kind`: section, memory, context, tool, entry, attachment, repair, option or wire.

    `name` identifies it within its kind (section key, tool name, entry id); `path` and `line` point into a file.
    """

    kind: str
    name: str = ""
    path: str | None = None
    line: int | None = None


class Attribution(Struct, frozen=True, gc=False):
    """What `explain` says of one piece. `gate` is a sentence fragment: why it was let in."""

    source: Source
    lane: Lane
    lifetime: Lifetime
    gate: str = ""


class Fragment(Struct, frozen=True, gc=False):
    """Text on its way to the model: the only door for model-visible text."""

    text: str
    origin: Attribution


class Span(Struct, frozen=True, gc=False):
    """Bytes [start, end) of a request body and where they come from."""

    start: int
    end: int
    origin: Attribution


class Omission(Struct, frozen=True, gc=False):
    """Something that was not sent, and why: the other half of an explanation (law 9)."""

    what: str
    reason: str
    step: str
    source: Source | None = None


Runs: TypeAlias = tuple[tuple[int, Attribution], ...]
"""Run lengths in bytes with their attribution; they add up to the bytes they describe."""

WIRE = Attribution(Source("wire"), Lane.WIRE, Lifetime.RELEASE, "JSON syntax of the request")
