"""The shapes of a request body as data: which keys stand where, of which type, behind which beta (wire page 1 and 2).

Decides nothing by itself; `shape.py` reads these tables. A place whose fields are the service's own business (server
tools, server results) is open: its extra keys are not judged.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct


class Kind(enum.Enum):
    """What a JSON value may be."""

    TEXT = "a string"
    INTEGER = "an integer"
    NUMBER = "a number"
    FLAG = "true or false"
    OBJECT = "an object"
    LIST = "a list"
    ANY = "any value"


class Field(Struct, frozen=True, kw_only=True):
    """One key. `rule` is reported when the value is missing or wrong; `beta_rule` when none of `betas` is sent.

    `inside` is the form of the object, or of each item of the list. `or_text`: a string stands for the list.
    """

    kind: Kind
    required: bool = False
    values: tuple[str, ...] = ()
    inside: Shape | Choice | Field | None = None
    or_text: bool = False
    rule: str = "W03"
    betas: tuple[str, ...] = ()
    beta_rule: str = "L09"


class Shape(Struct, frozen=True, kw_only=True):
    """An object. `refused` names keys that have a rule of their own; any other unknown key is L09 unless `is_open`."""

    fields: Mapping[str, Field]
    refused: Mapping[str, str] = {}
    is_open: bool = False
    betas: tuple[str, ...] = ()
    beta_rule: str = "W04"


class Choice(Struct, frozen=True, kw_only=True):
    """An object whose `tag` key says which shape it has.

    A tag out of `elsewhere` is known but does not belong here; one that begins with a word of `prefixes` has the shape
    `prefixed`; any other foreign tag is `unknown_rule`. Without a tag the object has the shape called `default`.
    """

    tag: str
    shapes: Mapping[str, Shape]
    rule: str = "W03"
    unknown_rule: str = "W05"
    elsewhere: tuple[str, ...] = ()
    default: str | None = None
    prefixed: Shape | None = None
    prefixes: tuple[str, ...] = ()


def _text(*, required: bool = False, values: tuple[str, ...] = (), rule: str = "W03") -> Field:
    return Field(kind=Kind.TEXT, required=required, values=values, rule=rule)


def _object(inside: Shape | Choice | None = None, *, required: bool = False, rule: str = "W03") -> Field:
    return Field(kind=Kind.OBJECT, required=required, inside=inside, rule=rule)


def _list(
    inside: Shape | Choice | Field | None = None, *, required: bool = False, or_text: bool = False, rule: str = "W03"
) -> Field:
    return Field(kind=Kind.LIST, required=required, inside=inside, or_text=or_text, rule=rule)


NEED = _text(required=True)
MAY = _text()
ANY = Field(kind=Kind.ANY)
NEED_ANY = Field(kind=Kind.ANY, required=True)
FLAG = Field(kind=Kind.FLAG)
INTEGER = Field(kind=Kind.INTEGER)
NEED_INTEGER = Field(kind=Kind.INTEGER, required=True)

# ------------------------------------------------------------------------------------------------------------- markers

MARKER = Shape(
    fields={
        "type": _text(required=True, values=("ephemeral",), rule="L130"),
        "ttl": _text(values=("5m", "1h"), rule="L130"),
    },
    refused={"scope": "L131"},
)
MARKED = {"cache_control": _object(MARKER)}
CITATION = Shape(fields={}, refused={"cache_control": "L132"}, is_open=True)
CITATIONS = _list(CITATION)

# -------------------------------------------------------------------------------------------------------------- blocks

TEXT = Shape(fields={"type": NEED, "text": NEED, "citations": CITATIONS, **MARKED})

IMAGE_SOURCE = Choice(
    tag="type",
    shapes={
        "base64": Shape(
            fields={
                "type": NEED,
                "media_type": _text(
                    required=True, values=("image/jpeg", "image/png", "image/gif", "image/webp"), rule="L144"
                ),
                "data": NEED,
            }
        ),
        "url": Shape(fields={"type": NEED, "url": NEED}),
        "file": Shape(fields={"type": NEED, "file_id": NEED}),
    },
)
IMAGE = Shape(
    fields={
        "type": NEED,
        "source": _object(IMAGE_SOURCE, required=True),
        "transformations": _object(Shape(fields={"oversized_image": _text(values=("downsize", "error"))})),
        **MARKED,
    }
)
DOCUMENT_SOURCE = Choice(
    tag="type",
    shapes={
        "base64": Shape(
            fields={"type": NEED, "media_type": _text(required=True, values=("application/pdf",)), "data": NEED}
        ),
        "text": Shape(fields={"type": NEED, "media_type": _text(required=True, values=("text/plain",)), "data": NEED}),
        "content": Shape(fields={"type": NEED, "content": _list(required=True, or_text=True)}),
        "url": Shape(fields={"type": NEED, "url": NEED}),
        "file": Shape(fields={"type": NEED, "file_id": NEED}),
    },
)
DOCUMENT = Shape(
    fields={
        "type": NEED,
        "source": _object(DOCUMENT_SOURCE, required=True),
        "title": MAY,
        "context": MAY,
        "citations": _object(Shape(fields={"enabled": FLAG})),
        **MARKED,
    }
)
SEARCH_RESULT = Shape(
    fields={
        "type": NEED,
        "content": _list(Choice(tag="type", shapes={"text": TEXT}), required=True),
        "source": NEED,
        "title": NEED,
        "citations": _object(Shape(fields={"enabled": FLAG})),
        **MARKED,
    }
)
TOOL_REFERENCE = Shape(fields={"type": NEED, "tool_name": NEED, **MARKED})
RESULT_CONTENT = Choice(
    tag="type",
    shapes={
        "text": TEXT,
        "image": IMAGE,
        "document": DOCUMENT,
        "search_result": SEARCH_RESULT,
        "tool_reference": TOOL_REFERENCE,
        "browser_state": Shape(fields={"type": NEED}, is_open=True),
    },
    unknown_rule="L64",
)

SERVER_TOOLS = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
    "advisor",
)
_RUN_CODE = ("code_execution", "web_search", "web_fetch")
CALLED_AS = {
    **{name: (name,) for name in SERVER_TOOLS},
    **dict.fromkeys(("code_execution", "bash_code_execution", "text_editor_code_execution"), _RUN_CODE),
}
"""For the name of each server call the tools that make it (L69): newer web tools run code by themselves."""
SERVER_RESULT = Shape(fields={"type": NEED, "tool_use_id": NEED, "content": NEED_ANY, **MARKED}, is_open=True)
SERVER_RESULTS = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_result",
)
MCP_BETAS = ("mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15")
TOOL_CHANGE_BETAS = ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15")
COMPACTION_BETAS = ("compact-2026-01-12", "compact-2026-09-04")
SIGNED_COMPACTION_BETA = "compact-2026-09-04"

CHANGED_TOOL = Shape(fields={"type": NEED}, is_open=True)
TOOL_CHANGE = Shape(
    fields={"type": NEED, "tool": _object(CHANGED_TOOL, required=True), **MARKED}, betas=TOOL_CHANGE_BETAS
)

BLOCKS: dict[str, Shape] = {
    "text": TEXT,
    "image": IMAGE,
    "document": DOCUMENT,
    "search_result": SEARCH_RESULT,
    "thinking": Shape(
        fields={
            "type": NEED,
            "thinking": _text(required=True, rule="L77"),
            "signature": _text(required=True, rule="L76"),
        },
        refused={"cache_control": "L89"},
    ),
    "redacted_thinking": Shape(fields={"type": NEED, "data": NEED}, refused={"cache_control": "L89"}),
    "tool_use": Shape(
        fields={
            "type": NEED,
            "id": NEED,
            "name": NEED,
            "input": _object(required=True, rule="L62"),
            "caller": ANY,
            "toolset_name": MAY,
            **MARKED,
        }
    ),
    "tool_result": Shape(
        fields={
            "type": NEED,
            "tool_use_id": NEED,
            "content": _list(RESULT_CONTENT, or_text=True),
            "is_error": FLAG,
            "toolset_name": MAY,
            **MARKED,
        }
    ),
    "server_tool_use": Shape(
        fields={
            "type": NEED,
            "id": NEED,
            "name": _text(required=True, values=SERVER_TOOLS, rule="W05"),
            "input": _object(required=True, rule="L62"),
            "caller": ANY,
            **MARKED,
        }
    ),
    "container_upload": Shape(fields={"type": NEED, "file_id": NEED, **MARKED}),
    "mcp_tool_use": Shape(
        fields={
            "type": NEED,
            "id": NEED,
            "name": NEED,
            "server_name": NEED,
            "input": _object(required=True, rule="L62"),
            **MARKED,
        },
        betas=MCP_BETAS,
    ),
    "mcp_tool_listing": Shape(fields={"type": NEED}, is_open=True, betas=MCP_BETAS),
    "compaction": Shape(
        fields={
            "type": NEED,
            "content": MAY,
            "encrypted_content": MAY,
            "signature": MAY,
            "tool_changes": ANY,
            **MARKED,
        },
        betas=COMPACTION_BETAS,
    ),
    "fallback": Shape(
        fields={"type": NEED, "from": NEED_ANY, "to": NEED_ANY},
        betas=("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    ),
    "tool_addition": TOOL_CHANGE,
    "tool_removal": TOOL_CHANGE,
    **dict.fromkeys(SERVER_RESULTS, SERVER_RESULT),
}
CONTENT = Choice(tag="type", shapes=BLOCKS, elsewhere=("tool_reference", "browser_state"))
SYSTEM_TYPES = ("text", "tool_addition", "tool_removal")
SYSTEM_CONTENT = Choice(
    tag="type",
    shapes={name: BLOCKS[name] for name in SYSTEM_TYPES},
    elsewhere=(*(name for name in BLOCKS if name not in SYSTEM_TYPES), *CONTENT.elsewhere),
)

# ------------------------------------------------------------------------------------------------------------ messages

_SPOKEN = Shape(
    fields={"role": NEED, "content": _list(CONTENT, required=True, or_text=True)},
    refused={"clear_at": "L39", "output_config": "L37"},
)
EFFORTS = ("low", "medium", "high", "xhigh", "max")
MESSAGE = Choice(
    tag="role",
    shapes={
        "user": _SPOKEN,
        "assistant": _SPOKEN,
        "system": Shape(
            fields={
                "role": NEED,
                "content": _list(SYSTEM_CONTENT, or_text=True),
                "clear_at": Field(
                    kind=Kind.TEXT,
                    values=("never", "next_user_message"),
                    rule="L40",
                    betas=("mid-conversation-system-clear-at-2026-08-21",),
                    beta_rule="L38",
                ),
                "output_config": Field(
                    kind=Kind.OBJECT,
                    inside=Shape(fields={"effort": _text(values=EFFORTS, rule="L37")}),
                    rule="L37",
                    betas=("mid-conversation-output-config-2026-07-01",),
                    beta_rule="L37",
                ),
            }
        ),
    },
    rule="L03",
    unknown_rule="L03",
)

# --------------------------------------------------------------------------------------------------------------- tools

CUSTOM_TOOL = Shape(
    fields={
        "name": NEED,
        "input_schema": _object(required=True, rule="L102"),
        "description": MAY,
        "type": MAY,
        "defer_loading": FLAG,
        "strict": FLAG,
        "input_examples": _list(_object()),
        "eager_input_streaming": FLAG,
        "allowed_callers": _list(MAY),
        **MARKED,
    }
)
SERVER_TOOL = Shape(fields={"type": NEED, "name": MAY, "defer_loading": FLAG, **MARKED}, is_open=True)
TOOL = Choice(
    tag="type",
    shapes={"custom": CUSTOM_TOOL},
    prefixed=SERVER_TOOL,
    default="custom",
    prefixes=(
        "bash_",
        "text_editor_",
        "memory_",
        "web_search_",
        "web_fetch_",
        "code_execution_",
        "computer_",
        "browser_",
        "tool_search_tool_",
        "mcp_toolset",
        "advisor_",
    ),
)
