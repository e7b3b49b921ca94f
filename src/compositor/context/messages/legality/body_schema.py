"""The shape of the body itself: the fields beside the messages, as data (wire page 1).

Continues `schemas.py`; decides nothing by itself.
"""

from __future__ import annotations

from .schemas import (
    ANY,
    EFFORTS,
    FLAG,
    INTEGER,
    MARKED,
    MAY,
    MCP_BETAS,
    MESSAGE,
    NEED,
    NEED_ANY,
    NEED_INTEGER,
    TEXT,
    TOOL,
    Choice,
    Field,
    Kind,
    Shape,
)

MODEL_FIELDS = ("model", "max_tokens")
"""Required in a message request; a counting request has no limit, and some platforms name the model in the address."""

_DISPLAY = Field(kind=Kind.TEXT, values=("summarized", "omitted", "updates"))
_BINDING = Field(kind=Kind.ANY, betas=("thinking-binding-controls-2026-08-01",), beta_rule="L82")
THINKING = Choice(
    tag="type",
    shapes={
        "adaptive": Shape(fields={"type": NEED, "display": _DISPLAY, "block_binding": _BINDING}),
        "enabled": Shape(
            fields={"type": NEED, "budget_tokens": NEED_INTEGER, "display": _DISPLAY, "block_binding": _BINDING}
        ),
        "between_tools": Shape(fields={"type": NEED, "display": _DISPLAY, "block_binding": _BINDING}),
        "disabled": Shape(fields={"type": NEED, "block_binding": _BINDING}, refused={"display": "L95"}),
    },
)
_ONE_AT_A_TIME = {"type": NEED, "disable_parallel_tool_use": FLAG}
TOOL_CHOICE = Choice(
    tag="type",
    shapes={
        "auto": Shape(fields=_ONE_AT_A_TIME),
        "any": Shape(fields=_ONE_AT_A_TIME),
        "tool": Shape(fields={**_ONE_AT_A_TIME, "name": NEED}),
        "none": Shape(fields={"type": NEED}),
    },
)
OUTPUT_CONFIG = Shape(
    fields={
        "effort": Field(kind=Kind.TEXT, values=EFFORTS),
        "format": Field(
            kind=Kind.OBJECT,
            inside=Shape(
                fields={
                    "type": Field(kind=Kind.TEXT, required=True, values=("json_schema",)),
                    "schema": Field(kind=Kind.OBJECT, required=True),
                }
            ),
        ),
        "task_budget": Field(kind=Kind.OBJECT, betas=("task-budgets-2026-03-13",)),
    }
)
EDITING_BETA = "context-management-2025-06-27"
THRESHOLD_BETA = "compact-2026-01-12"
_COUNTED = Field(kind=Kind.OBJECT, inside=Shape(fields={"type": NEED, "value": NEED_INTEGER}))
EDITS = Choice(
    tag="type",
    shapes={
        # `keep` is judged whole by its own rule (L153): it is an object or the word "all".
        "clear_thinking_20251015": Shape(fields={"type": NEED, "keep": ANY}, betas=(EDITING_BETA,), beta_rule="L150"),
        "clear_tool_uses_20250919": Shape(
            fields={
                "type": NEED,
                "trigger": _COUNTED,
                "keep": _COUNTED,
                "clear_at_least": _COUNTED,
                "exclude_tools": Field(kind=Kind.LIST, inside=MAY),
                "clear_tool_inputs": ANY,
            },
            betas=(EDITING_BETA,),
            beta_rule="L150",
        ),
        "compact_20260112": Shape(
            fields={"type": NEED, "trigger": ANY, "pause_after_compaction": FLAG, "instructions": MAY},
            betas=(THRESHOLD_BETA,),
            beta_rule="L150",
        ),
    },
)
_MCP_SERVER = Shape(
    fields={
        "type": Field(kind=Kind.TEXT, required=True, values=("url",)),
        "name": NEED,
        "url": NEED,
        "authorization_token": MAY,
        "tool_configuration": Field(kind=Kind.OBJECT, betas=("mcp-client-2025-04-04",)),
    }
)

BODY = Shape(
    fields={
        "model": MAY,
        "max_tokens": INTEGER,
        "messages": Field(kind=Kind.LIST, inside=MESSAGE, required=True),
        "system": Field(
            kind=Kind.LIST, inside=Choice(tag="type", shapes={"text": TEXT}, unknown_rule="W03"), or_text=True
        ),
        "tools": Field(kind=Kind.LIST, inside=TOOL),
        "tool_choice": Field(kind=Kind.OBJECT, inside=TOOL_CHOICE),
        "thinking": Field(kind=Kind.OBJECT, inside=THINKING),
        "output_config": Field(kind=Kind.OBJECT, inside=OUTPUT_CONFIG),
        "stop_sequences": Field(kind=Kind.LIST, inside=MAY),
        "stream": FLAG,
        "metadata": Field(kind=Kind.OBJECT, inside=Shape(fields={"user_id": MAY})),
        "service_tier": Field(kind=Kind.TEXT, values=("auto", "standard_only")),
        "speed": Field(kind=Kind.TEXT, values=("standard", "fast")),
        "inference_geo": MAY,
        "container": ANY,
        "diagnostics": Field(kind=Kind.OBJECT, inside=Shape(fields={"previous_message_id": MAY})),
        "temperature": Field(kind=Kind.NUMBER),
        "top_p": Field(kind=Kind.NUMBER),
        "top_k": INTEGER,
        "context_management": Field(
            kind=Kind.OBJECT,
            inside=Shape(fields={"edits": Field(kind=Kind.LIST, inside=EDITS)}),
            betas=(EDITING_BETA, THRESHOLD_BETA),
            beta_rule="L150",
        ),
        "compaction": Field(
            kind=Kind.OBJECT,
            inside=Shape(
                fields={"type": Field(kind=Kind.TEXT, required=True, values=("summarize",)), "instructions": MAY}
            ),
            betas=("compact-2026-09-04",),
        ),
        "thread": Field(kind=Kind.OBJECT, betas=("message-threads-2026-08-12",)),
        "fallbacks": Field(kind=Kind.ANY, betas=("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01")),
        "fallback_credit_token": Field(
            kind=Kind.ANY, betas=("fallback-credit-2026-06-01", "fallback-credit-2026-07-01")
        ),
        "mcp_servers": Field(kind=Kind.LIST, inside=_MCP_SERVER, betas=MCP_BETAS),
        "billing_policy": ANY,
        **MARKED,
    }
)

VERSIONED_FIELDS = {"anthropic_version": NEED, "anthropic_beta": Field(kind=Kind.LIST, inside=MAY)}
"""What stands in the body where the platform has no headers for it."""

REQUIRED = dict.fromkeys(MODEL_FIELDS, NEED_ANY)
