"""The form of a request body as tables: which keys stand where and behind which beta (wire page 1 and 2).

Decides nothing by itself; `grammar.py` reads it. Written from the wire page and the public SDK's types, apart from the product's own
tables, so that one checks the other. What belongs to the service's own tools is open: their keys are its business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .grammar import (
    Check,
    Circumstances,
    Form,
    Key,
    anything,
    flag,
    mapping,
    number,
    one_of,
    record,
    rows,
    tagged,
    text,
    text_or,
    whole,
)
from .refusal import Refusal

CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
MID_EFFORT = "mid-conversation-output-config-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"
TOOL_CHANGES = ("mid-conversation-tool-changes-2026-07-01", INLINE_TOOLS)
CONTEXT_EDITS = ("context-management-2025-06-27", "compact-2026-01-12")
ON_DEMAND = "compact-2026-09-04"
COMPACTION = ("compact-2026-01-12", ON_DEMAND)
MCP = ("mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15")
INTERLEAVED = "interleaved-thinking-2025-05-14"
BINDING = "thinking-binding-controls-2026-08-01"
FALLBACK = ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01")
CREDIT = ("fallback-credit-2026-06-01", "fallback-credit-2026-07-01")


def need(check: Check = text, rule: str | None = None) -> Key:
    return Key(check=check, required=True, rule=rule)


def may(check: Check = text, rule: str | None = None) -> Key:
    return Key(check=check, rule=rule)


MARKER = Form(
    keys={"type": need(one_of("ephemeral"), "L130"), "ttl": may(one_of("5m", "1h"), "L130")}, refused={"scope": "L131"}
)


def marker(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
    """A cache marker; the service names its kind in the path of a foreign key (L131)."""
    for found in record(MARKER)(at, value, given):
        foreign = "Extra inputs" in found.message
        message = found.message.replace(at, f"{at}.ephemeral", 1) if foreign else found.message
        yield Refusal(message=message, rule="L131" if foreign else found.rule or "L130")


MARKED = {"cache_control": may(marker)}
TYPE = {"type": need()}
CITATIONS = rows(record(Form(refused={"cache_control": "L132"}, is_open=True)))
ENABLED = record(Form(keys={"enabled": may(flag)}))

TEXT = Form(keys={**TYPE, "text": need(), "citations": may(CITATIONS), **MARKED})
IMAGE_TYPES = one_of("image/jpeg", "image/png", "image/gif", "image/webp")
IMAGE = Form(
    keys={
        **TYPE,
        "source": need(
            tagged({
                "base64": Form(keys={**TYPE, "media_type": need(IMAGE_TYPES, "L144"), "data": need()}),
                "url": Form(keys={**TYPE, "url": need()}),
                "file": Form(keys={**TYPE, "file_id": need()}),
            })
        ),
        "transformations": may(record(Form(keys={"oversized_image": may(one_of("downsize", "error"))}))),
        **MARKED,
    }
)  # fmt: skip
DOCUMENT = Form(
    keys={
        **TYPE,
        "source": need(
            tagged({
                "base64": Form(keys={**TYPE, "media_type": need(one_of("application/pdf")), "data": need()}),
                "text": Form(keys={**TYPE, "media_type": need(one_of("text/plain")), "data": need()}),
                "content": Form(keys={**TYPE, "content": need(text_or(rows(mapping)))}),
                "url": Form(keys={**TYPE, "url": need()}),
                "file": Form(keys={**TYPE, "file_id": need()}),
            })
        ),
        "title": may(),
        "context": may(),
        "citations": may(ENABLED),
        **MARKED,
    }
)  # fmt: skip
SEARCH_RESULT = Form(
    keys={
        **TYPE,
        "content": need(rows(tagged({"text": TEXT}))),
        "source": need(),
        "title": need(),
        "citations": may(ENABLED),
        **MARKED,
    }
)
RESULT_BLOCKS = {
    "text": TEXT,
    "image": IMAGE,
    "document": DOCUMENT,
    "search_result": SEARCH_RESULT,
    "tool_reference": Form(keys={**TYPE, "tool_name": need(), **MARKED}),
    "browser_state": Form(keys=TYPE, is_open=True),
}
SERVER_TOOLS = (
    "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution",
    "tool_search_tool_regex", "tool_search_tool_bm25", "advisor",
)  # fmt: skip
_SERVER_RESULT = Form(keys={**TYPE, "tool_use_id": need(), "content": need(anything), **MARKED}, is_open=True)
_CHANGE = Form(
    keys={
        **TYPE,
        "tool": need(record(Form(keys={"type": need(), "name": may(), "definition": may(mapping)}, is_open=True))),
        **MARKED,
    },
    betas=TOOL_CHANGES,
    beta_rule="W04",
)
_BETA_COMPACTION = Form(
    keys={
        **TYPE,
        "content": may(),
        "encrypted_content": may(),
        "signature": may(),
        "tool_changes": may(rows(mapping)),
        **MARKED,
    },
    betas=COMPACTION,
    beta_rule="W04",
)
BLOCKS: dict[str, Form] = {
    "text": TEXT,
    "image": IMAGE,
    "document": DOCUMENT,
    "search_result": SEARCH_RESULT,
    "thinking": Form(
        keys={**TYPE, "thinking": need(rule="L77"), "signature": need(rule="L76")}, refused={"cache_control": "L89"}
    ),
    "redacted_thinking": Form(keys={**TYPE, "data": need()}, refused={"cache_control": "L89"}),
    "tool_use": Form(
        keys={**TYPE, "id": need(), "name": need(), "input": need(mapping, "L62"), "caller": may(anything),
              "toolset_name": may(), **MARKED}
    ),
    "tool_result": Form(
        keys={**TYPE, "tool_use_id": need(), "content": may(text_or(rows(tagged(RESULT_BLOCKS))), "L64"),
              "is_error": may(flag), "toolset_name": may(), **MARKED}
    ),
    "server_tool_use": Form(
        keys={**TYPE, "id": need(), "name": need(one_of(*SERVER_TOOLS)), "input": need(mapping, "L62"),
              "caller": may(anything), **MARKED}
    ),
    **{
        f"{name}_tool_result": _SERVER_RESULT
        for name in ("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution",
                     "tool_search", "advisor")
    },
    "container_upload": Form(keys={**TYPE, "file_id": need(), **MARKED}),
    "compaction": _BETA_COMPACTION,
    "fallback": Form(keys={**TYPE, "from": may(anything), "to": may(anything)}, betas=FALLBACK, beta_rule="W04"),
    "mcp_tool_use": Form(
        keys={**TYPE, "id": need(), "name": need(), "server_name": need(), "input": need(mapping, "L62"), **MARKED},
        betas=MCP, beta_rule="W04",
    ),
    "mcp_tool_result": Form(keys={**TYPE, "tool_use_id": need()}, is_open=True, betas=MCP, beta_rule="W04"),
    "mcp_tool_listing": Form(keys=TYPE, is_open=True, betas=MCP, beta_rule="W04"),
    "tool_addition": _CHANGE,
    "tool_removal": _CHANGE,
}  # fmt: skip
SYSTEM_BLOCKS = {name: BLOCKS[name] for name in ("text", "tool_addition", "tool_removal")}

_EFFORT = one_of("low", "medium", "high", "xhigh", "max")
_TOOL = Form(
    keys={
        "name": need(rule="L100"), "input_schema": need(mapping, "L102"), "description": may(), "type": may(),
        "defer_loading": may(flag), "strict": may(flag), "input_examples": may(rows(mapping), "L103"),
        "eager_input_streaming": may(flag), "allowed_callers": may(rows(text)), **MARKED,
    }
)  # fmt: skip
_SERVICE_TOOL = Form(keys={**TYPE, "name": may(), "defer_loading": may(flag), **MARKED}, is_open=True)


def tool(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
    """A tool of the client (`custom`), or one of the service by its dated type, whose fields are its own."""
    if isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] != "custom":
        yield from record(_SERVICE_TOOL)(f"{at}.{value['type']}", value, given)
    elif isinstance(value, dict):
        yield from record(_TOOL)(f"{at}.custom", value, given)
    else:
        yield Refusal(message=f"{at}: Input should be a valid dictionary")


_DISPLAY = may(one_of("summarized", "omitted", "updates"))
_BLOCK_BINDING = Key(
    check=record(Form(keys={"prefix_mismatch_behavior": may(one_of("error", "drop_block"))})),
    betas=(BINDING,),
    beta_rule="L82",
)
_ON = {**TYPE, "display": _DISPLAY, "block_binding": _BLOCK_BINDING}
THINKING = tagged(
    {
        "adaptive": Form(keys=_ON),
        "enabled": Form(keys={**_ON, "budget_tokens": need(whole, "L90")}),
        "between_tools": Form(keys=_ON),
        "disabled": Form(keys={**TYPE, "block_binding": _BLOCK_BINDING}, refused={"display": "L95"}),
    }
)
_PARALLEL = {"disable_parallel_tool_use": may(flag)}
TOOL_CHOICE = tagged(
    {
        "auto": Form(keys={**TYPE, **_PARALLEL}),
        "any": Form(keys={**TYPE, **_PARALLEL}),
        "tool": Form(keys={**TYPE, "name": need(), **_PARALLEL}),
        "none": Form(keys=TYPE),
    }
)
OUTPUT_CONFIG = record(
    Form(
        keys={
            "effort": may(_EFFORT),
            "format": may(record(Form(keys={"type": need(one_of("json_schema")), "schema": need(mapping)}))),
            "task_budget": Key(check=mapping, betas=("task-budgets-2026-03-13",)),
        }
    )
)
_TOKENS = tagged({"input_tokens": Form(keys={**TYPE, "value": need(whole)})}, names=False)
_USES = {"tool_uses": Form(keys={**TYPE, "value": need(whole)})}
EDITS = tagged(
    {
        "clear_thinking_20251015": Form(
            keys={**TYPE, "keep": may(text_or(tagged({"thinking_turns": Form(keys={**TYPE, "value": need(whole, "L153")}),
                                                      "all": Form(keys=TYPE)}, names=False)), "L153")}
        ),
        "clear_tool_uses_20250919": Form(
            keys={**TYPE, "trigger": may(tagged({"input_tokens": Form(keys={**TYPE, "value": need(whole)}), **_USES},
                                                names=False)),
                  "keep": may(tagged(_USES, names=False)), "clear_at_least": may(_TOKENS),
                  "exclude_tools": may(rows(text)), "clear_tool_inputs": may(anything)}
        ),
        "compact_20260112": Form(
            keys={**TYPE, "trigger": may(_TOKENS, "L154"), "pause_after_compaction": may(flag), "instructions": may()},
            betas=("compact-2026-01-12",),
            beta_rule="L150",
        ),
    }
)  # fmt: skip

_SYSTEM_OUTPUT = Key(
    check=record(Form(keys={"effort": may(_EFFORT)}, refused={"format": "L37", "task_budget": "L37"})),
    rule="L37",
    betas=(MID_EFFORT,),
    beta_rule="L37",
)
MESSAGE = Form(
    keys={
        "role": Key(check=anything),
        "content": Key(check=anything),
        "clear_at": Key(check=anything, betas=(CLEAR_AT,), beta_rule="L38"),
        "output_config": _SYSTEM_OUTPUT,
    }
)
_CONTENT = {True: text_or(rows(tagged(SYSTEM_BLOCKS))), False: text_or(rows(tagged(BLOCKS)))}


def message(at: str, value: Any, given: Circumstances) -> Iterator[Refusal]:
    """Envelope and blocks of one message. Where each block may stand is judged in `message_rules.py`."""
    if not isinstance(value, dict):
        yield Refusal(message=f"{at}: Input should be a valid dictionary")
        return
    role = value.get("role")
    if role not in ("user", "assistant", "system"):
        said = f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter.'
        yield Refusal(message=said, rule="L03")
    yield from record(MESSAGE)(at, value, given)
    effort_only = role == "system" and bool(value.get("output_config")) and given.has((MID_EFFORT,))
    if value.get("content") is None and not effort_only:
        yield Refusal(message=f"{at}.content: Field required", rule="L36" if role == "system" else None)
    elif value.get("content") is not None:
        yield from _content(f"{at}.content", value["content"], given, is_system=role == "system")


def _content(at: str, value: Any, given: Circumstances, *, is_system: bool) -> Iterator[Refusal]:
    if not isinstance(value, str | list):
        yield Refusal(message=f"{at}: Input should be a valid string or list of blocks")
        return
    yield from _CONTENT[is_system](at, value, given)


_SAMPLING = ("temperature", "top_p", "top_k")
BODY: dict[str, Key] = {
    "model": need(),
    "max_tokens": may(whole),
    "messages": need(rows(message)),
    "system": may(text_or(rows(tagged({"text": TEXT})))),
    "tools": may(rows(tool)),
    "tool_choice": may(TOOL_CHOICE),
    "cache_control": may(marker),
    "thinking": may(THINKING),
    "output_config": may(OUTPUT_CONFIG),
    "stop_sequences": may(rows(text)),
    "stream": may(flag),
    "metadata": may(record(Form(keys={"user_id": may()}))),
    "service_tier": may(one_of("auto", "standard_only")),
    "speed": may(one_of("standard", "fast")),
    "inference_geo": may(),
    "container": may(anything),
    "diagnostics": may(record(Form(keys={"previous_message_id": may()}))),
    "context_management": Key(
        check=record(Form(keys={"edits": may(rows(EDITS))})), betas=CONTEXT_EDITS, beta_rule="L150"
    ),
    "compaction": Key(
        check=record(Form(keys={"type": need(one_of("summarize")), "instructions": may()})), betas=(ON_DEMAND,)
    ),
    "mcp_servers": Key(check=rows(mapping), betas=MCP),
    "fallbacks": Key(check=anything, betas=FALLBACK),
    "fallback_credit_token": Key(check=anything, betas=CREDIT),
    "thread": Key(check=mapping, betas=("message-threads-2026-08-12",)),
    "billing_policy": Key(check=mapping, betas=("billing-policy",)),
    **{name: may(number) for name in _SAMPLING},
}
_OUTSIDE_COUNTING = ("max_tokens", "stream", "stop_sequences", "metadata", "diagnostics", *_SAMPLING)


def check_shapes(body: Any, given: Circumstances) -> Iterator[Refusal]:
    """Everything about the body that its form alone shows."""
    if given.is_current:
        for name in _SAMPLING:
            if name in body:
                yield Refusal(message=f"{name}: Extra inputs are not permitted", rule="L10")
    if not given.counting and body.get("max_tokens") is None:
        yield Refusal(message="max_tokens: Field required")
    left_out = _OUTSIDE_COUNTING if given.counting else ()
    keys = {name: key for name, key in BODY.items() if name not in left_out}
    if given.profile.version_in_body:
        keys |= {"anthropic_version": need(), "anthropic_beta": may(rows(text))}
    yield from record(Form(keys=keys))("", body, given)
