"""Calls and their results as an editor shows them: kind, title, places, and what was changed as a difference.

Decides words and shapes of a call on the editor's side. Reads no file but the one a pending write would replace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from acp import schema
from acp.helpers import text_block, tool_content, tool_diff_content

from compositor.adapters.files import FileProblem, read_file
from compositor.adapters.tools.text_files import decode_text
from compositor.context.tools.display import display_call
from compositor.types.blocks import ImageBlock, TextBlock
from compositor.types.json import decode_json
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

LONGEST_TEXT = 10_000
"""Characters of a result that an editor is shown; the model has the whole of it."""

# Everything that is not here is `other`.
KINDS: Mapping[str, schema.ToolKind] = {
    "Read": "read",
    "ReadMcpResourceTool": "read",
    "Edit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Glob": "search",
    "Grep": "search",
    "ToolSearch": "search",
    "Bash": "execute",
    "BashOutput": "execute",
    "Monitor": "execute",
    "TaskStop": "execute",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Agent": "think",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
}
_PATHS = ("file_path", "notebook_path", "path")


def started(call: ToolCall, cwd: str) -> schema.ToolCallStart:
    """A call that the model has asked for and nobody has judged."""
    fields = call_fields(call)
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call.id,
        title=display_call(call),
        kind=KINDS.get(call.name, "other"),
        status="pending",
        locations=places(fields, cwd),
        raw_input=fields,
        content=proposed(call, cwd),
    )


def running(call: ToolCall, said: str = "") -> schema.ToolCallProgress:
    """A call that runs, with what it says of how far it is."""
    return schema.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call.id,
        status="in_progress",
        content=[tool_content(text_block(said))] if said else None,
    )


def ended(call: ToolCall, outcome: ToolOutcome, cwd: str) -> schema.ToolCallProgress:
    """What became of a call. A change that was made stays shown as one."""
    done = outcome.kind is OutcomeKind.DONE
    return schema.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call.id,
        status="completed" if done else "failed",
        content=(changed(outcome, cwd) if done else None) or result_content(outcome),
        raw_output=None if outcome.structured is None else msgspec.json.decode(outcome.structured),
    )


def asked_about(call: ToolCall, reason: str, cwd: str) -> schema.ToolCallUpdate:
    """The call as a person is asked about it: what would change, and why the question."""
    fields = call_fields(call)
    return schema.ToolCallUpdate(
        tool_call_id=call.id,
        title=display_call(call),
        kind=KINDS.get(call.name, "other"),
        status="pending",
        locations=places(fields, cwd),
        raw_input=fields,
        content=[*(proposed(call, cwd) or ()), tool_content(text_block(reason))],
    )


def proposed(call: ToolCall, cwd: str) -> list[Any] | None:
    """What the call would change, as a difference; `None` for a call that changes no file."""
    fields = call_fields(call)
    path = absolute(fields.get("file_path"), cwd)
    if path is None:
        return None
    if call.name == "Edit":
        return [tool_diff_content(path, str(fields.get("new_string", "")), str(fields.get("old_string", "")))]
    if call.name == "Write":
        return [tool_diff_content(path, str(fields.get("content", "")), _text_now(path))]
    return None


def changed(outcome: ToolOutcome, cwd: str) -> list[Any] | None:
    """What a call did change."""
    told = None if outcome.structured is None else decode_json(bytes(outcome.structured))
    if not isinstance(told, dict):
        return None
    path = absolute(told.get("filePath"), cwd)
    if path is None:
        return None
    if "newString" in told:
        return [tool_diff_content(path, str(told["newString"]), str(told.get("oldString", "")))]
    if "structuredPatch" in told and "content" in told:
        return [tool_diff_content(path, str(told["content"]), told.get("originalFile"))]
    return None


def result_content(outcome: ToolOutcome) -> list[Any]:
    """The words and pictures of a result, cut to what a person reads."""
    blocks: Sequence[Any] = (TextBlock(outcome.content),) if isinstance(outcome.content, str) else outcome.content
    shown: list[Any] = []
    for block in blocks:
        if isinstance(block, TextBlock) and block.text:
            shown.append(tool_content(text_block(cut(block.text))))
        elif isinstance(block, ImageBlock):
            source = msgspec.json.decode(block.source)
            if source.get("type") == "base64":
                picture = schema.ImageContentBlock(type="image", data=source["data"], mime_type=source["media_type"])
                shown.append(tool_content(picture))
    return shown


def cut(text: str) -> str:
    left = len(text) - LONGEST_TEXT
    return text if left <= 0 else f"{text[:LONGEST_TEXT]}\n[{left:,} more characters are not shown]"


def places(fields: Mapping[str, Any], cwd: str) -> list[schema.ToolCallLocation]:
    """The file that a call works on, so that an editor can go along."""
    path = next((found for name in _PATHS if (found := absolute(fields.get(name), cwd)) is not None), None)
    if path is None:
        return []
    line = fields.get("offset")
    return [schema.ToolCallLocation(path=path, line=line if type(line) is int and line >= 0 else None)]


def absolute(path: object, cwd: str) -> str | None:
    return os.path.join(cwd, path) if isinstance(path, str) and path else None  # noqa: PTH118  (an absolute one stays itself)


def call_fields(call: ToolCall) -> dict[str, Any]:
    """The input of a call; empty where it is no object."""
    try:
        found = decode_json(bytes(call.input))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text_now(path: str) -> str | None:
    if not Path(path).is_file():
        return None
    found = read_file(path)
    text = None if isinstance(found, FileProblem) else decode_text(found.data)
    return None if text is None else text.text
