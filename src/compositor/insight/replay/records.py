"""One line of a transcript of the Claude Code family as the few fields a replay needs; the rest is skipped, not decoded.

Decides what is looked at (project-conventions 10.2). A line of an odd shape is read again leniently; a line that is no record is `None`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from compositor.context.tokens import estimate_tokens
from compositor.context.transcript.raw import BLANK, repaired_json
from compositor.types.usage import Usage

ABSENT = Raw(b"null")
IMAGE_TOKENS = 1_500
"""What one image is taken for: its size in pixels is not looked at (wire page 9.2: at most 1,568 on older models)."""


class Block(Struct, gc=False):
    """One content block; `Raw` parts are weighed, never read."""

    type: str = ""
    id: str = ""
    name: str = ""
    tool_use_id: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    input: Raw = ABSENT
    content: Raw = ABSENT


class Reported(Usage, frozen=True):
    """Usage with its rounds: an answer with tools of the service is made of several prompts, and the sum counts each."""

    iterations: list[Usage] | None = None


class Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[Block] | str = ""
    usage: Reported | None = None
    diagnostics: Raw = ABSENT
    context_management: Raw = ABSENT


class Line(Struct, gc=False, rename="camel"):
    """A record. Fields that only some records have are empty in the others."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    is_sidechain: bool = False
    is_api_error_message: bool = False
    agent_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    effort: Raw = ABSENT
    subtype: str | None = None
    message: Message | None = None
    attachment: Raw = ABSENT
    compact_metadata: Raw = ABSENT
    microcompact_metadata: Raw = ABSENT


def read_line(data: bytes) -> Line | None:
    """The record in a line, `None` when there is none."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _odd(data)


Weighed = tuple[tuple[str, int], ...]


def weigh(block: Block) -> Weighed:
    """The block's estimated tokens with their source: `assistant text`, `thinking`, `call`, `result`, `image`, `text`."""
    kind = block.type
    if kind == "text":
        return (("text", weight(bytes(block.text))),)
    if kind == "tool_result":
        return _weigh_result(bytes(block.content))
    if kind in _CALLS:
        return (("call", weight(bytes(block.input)) + _CALL),)
    if kind in _THINKING:
        return (("thinking", weight(bytes(block.thinking))),)
    if kind in _MEDIA:
        return (("image", IMAGE_TOKENS),)
    return (("other", weight(bytes(block.content))),)


def weight(data: bytes) -> int:
    """Estimated tokens of JSON text. Of a long one three parts are looked at: an estimate stays one, and a replay stays quick."""
    if len(data) <= _WHOLE:
        return estimate_tokens(data)
    third, middle = _WHOLE // 3, len(data) // 2
    sample = data[:third] + data[middle : middle + third] + data[-third:]
    return round(estimate_tokens(sample) * len(data) / len(sample))


def blocks_of(message: Message) -> list[Block]:
    """The blocks of a message; text alone is one block."""
    if isinstance(message.content, str):
        return [Block(type="text", text=Raw(msgspec.json.encode(message.content)))] if message.content else []
    return message.content


def object_of(raw: Raw) -> dict[str, Any]:
    """A small JSON object as plain data; empty for anything else."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _weigh_result(content: bytes) -> Weighed:
    if b'"base64"' in content:
        try:
            parts = _decode_blocks(content)
        except (msgspec.MsgspecError, RecursionError):
            parts = []
        if parts:
            return tuple(
                ("image", IMAGE_TOKENS) if part.type == "image" else ("result", weight(bytes(part.text)))
                for part in parts
            )
    return (("result", weight(content) + _CALL),)


def _odd(data: bytes) -> Line | None:
    text = repaired_json(data.strip(BLANK))
    if text is None:
        return None
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    fields = msgspec.json.decode(text)
    if not isinstance(fields, dict):
        return None
    kept: dict[str, Any] = {}
    for name, kind in _FIELDS.items():
        if name in fields:
            try:
                kept[name] = msgspec.convert(fields[name], kind)
            except msgspec.ValidationError:
                continue
    return _decode(msgspec.json.encode(kept))


_WHOLE = 480
_CALLS = frozenset({"tool_use", "server_tool_use"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
_MEDIA = frozenset({"image", "document"})
_CALL = 12
"""Tokens that the frame of a call or of a result takes: names, ids, braces."""
_FIELDS: dict[str, Any] = {
    "type": str, "uuid": str, "parentUuid": str | None, "timestamp": str, "sessionId": str, "isSidechain": bool,
    "isApiErrorMessage": bool, "agentId": str, "cwd": str, "version": str, "effort": str, "subtype": str,
    "message": Message, "attachment": dict, "compactMetadata": dict, "microcompactMetadata": dict,
}  # fmt: skip
_decode = msgspec.json.Decoder(Line).decode
_decode_blocks = msgspec.json.Decoder(list[Block]).decode
