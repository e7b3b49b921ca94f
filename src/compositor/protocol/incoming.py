"""Lines that a program writes to a run (`--input-format stream-json`): prompts, and both halves of control.

Decides what a line means. A line of a type that nobody knows is passed over, as the protocol asks; one that is no message at all is the
caller's mistake and named with its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from compositor.adapters.tools.images import image_from_base64
from compositor.errors import UsageError
from compositor.types.blocks import ContentBlock, DocumentBlock, ImageBlock, TextBlock, block_type, parse_content
from compositor.types.json import decode_json, raw_json

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one line: room for the pictures of a prompt."""


class Prompt(Struct, frozen=True, kw_only=True):
    """What a person, or a program in a person's place, says. `message` is the message as it came, for those who want it back."""

    text: str
    media: tuple[ImageBlock | DocumentBlock, ...] = ()
    id: str = ""
    message: Mapping[str, Any] = {}


class ControlRequest(Struct, frozen=True, kw_only=True):
    """The program asks for something beside the conversation; it waits for a response with this id."""

    id: str
    subtype: str
    fields: Mapping[str, Any]


class ControlAnswer(Struct, frozen=True, kw_only=True):
    """The program answers what we asked; `error` in its words where it could not."""

    id: str
    response: Mapping[str, Any] = {}
    error: str | None = None


class ControlCancel(Struct, frozen=True, kw_only=True):
    """The program wants no answer any more."""

    id: str


Incoming: TypeAlias = Prompt | ControlRequest | ControlAnswer | ControlCancel


def parse_line(line: bytes, number: int) -> Incoming | None:
    """What a line means; `None` for one without meaning here. Raises `UsageError` with the number of the line."""
    if not line.strip():
        return None
    try:
        value = decode_json(line)
    except (ValueError, RecursionError) as problem:
        raise _wrong(number, f"it is no JSON: {problem}") from None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise _wrong(number, "it is no object with a 'type'")
    try:
        return _parse(value)
    except (KeyError, TypeError, ValueError) as problem:
        raise _wrong(number, f"{value['type']!r} is not as the protocol has it: {_words(problem)}") from None


def _parse(value: dict[str, Any]) -> Incoming | None:
    match value["type"]:
        case "user":
            return _prompt(value)
        case "control_request":
            fields = value["request"]
            return ControlRequest(id=str(value["request_id"]), subtype=str(fields["subtype"]), fields=fields)
        case "control_response":
            answer = value["response"]
            if answer["subtype"] == "error":
                return ControlAnswer(id=str(answer["request_id"]), error=str(answer.get("error") or "no reason given"))
            found = answer.get("response")
            return ControlAnswer(id=str(answer["request_id"]), response=found if isinstance(found, dict) else {})
        case "control_cancel_request":
            return ControlCancel(id=str(value["request_id"]))
        case _:
            return None


def _prompt(value: dict[str, Any]) -> Prompt:
    blocks = parse_content(raw_json(value["message"]["content"])).blocks
    text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    media = tuple(_media(blocks))
    if not text.strip() and not media:
        raise ValueError("the prompt is empty")
    given = value.get("uuid")
    return Prompt(text=text, media=media, id=given if isinstance(given, str) else "", message=value["message"])


def _media(blocks: Iterable[ContentBlock]) -> Iterable[ImageBlock | DocumentBlock]:
    for block in blocks:
        match block:
            case TextBlock():
                pass
            case ImageBlock(source=source):
                yield _image(block, source)
            case DocumentBlock():
                yield block
            case _:
                raise ValueError(f"a prompt cannot hold a block of the type {block_type(block)!r}")


def _image(block: ImageBlock, source: Raw) -> ImageBlock:
    """A picture that fits: one that came in base64 is looked at and made smaller where it has to be."""
    fields = msgspec.json.decode(source)
    if fields.get("type") != "base64":
        return block
    return image_from_base64(fields["data"])


def _words(problem: Exception) -> str:
    return f"it has no {problem}" if isinstance(problem, KeyError) else str(problem)


def _wrong(number: int, why: str) -> UsageError:
    return UsageError(
        f"a line on standard input is no message: {why}",
        where=f"line {number}",
        hint="""Write one JSON object a line, as in {"type": "user", "message": {"role": "user", "content": "..."}}""",
    )
