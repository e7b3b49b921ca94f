"""Tools as values: definition, call, outcome.

Decides what is known about a tool before it runs and what comes back. A denial is an outcome, not an error.
"""

from __future__ import annotations

import enum

from msgspec import Raw, Struct

from .blocks import ResultContent
from .json import EMPTY_OBJECT


class Concurrency(enum.StrEnum):
    """`SHARED` calls may run side by side, an `EXCLUSIVE` one runs alone, in call order."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


class ToolOrigin(enum.StrEnum):
    BUILTIN = "builtin"
    MCP = "mcp"
    PLUGIN = "plugin"
    AGENT = "agent"
    DYNAMIC = "dynamic"


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """What the model is told about a tool, and what the client knows beside it.

    `input_schema` holds the locked bytes of a JSON Schema (2020-12) object. `deferred` keeps the definition out of the prefix
    until it is referenced; `read_only` tools change nothing outside the session. A tool that the service runs itself has its dated type
    in `provider` and the other fields of its definition in `settings`; it has neither description nor schema.
    """

    name: str
    description: str
    input_schema: Raw
    origin: ToolOrigin = ToolOrigin.BUILTIN
    concurrency: Concurrency = Concurrency.EXCLUSIVE
    deferred: bool = False
    read_only: bool = False
    provider: str = ""
    settings: Raw = EMPTY_OBJECT


class ToolCall(Struct, frozen=True, kw_only=True):
    """One complete `tool_use` block of an ended message."""

    id: str
    name: str
    input: Raw


class OutcomeKind(enum.StrEnum):
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """What happened to a call. `content` is what the model reads; `display` one line for the person watching.

    `structured` is the machine-readable result (project-conventions 9.2) or `None`.
    """

    call_id: str
    kind: OutcomeKind
    content: str | tuple[ResultContent, ...]
    display: str = ""
    structured: Raw | None = None

    @property
    def is_error(self) -> bool:
        return self.kind is not OutcomeKind.DONE
