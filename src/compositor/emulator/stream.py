"""An answer as bytes: server-sent events of every kind, or one JSON document.

Decides how a message is cut into events (wire page 7). Never decides what is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_TEXT_PIECE = 24
_JSON_PIECE = 16

Block = Mapping[str, Any]


class Answer(Struct, frozen=True, kw_only=True):
    """One message of the scripted model. `cut`: the last block stops in the middle, as at an output limit.

    `opening` are further fields that are known when the answer begins, `closing` those known at its end.
    """

    id: str
    model: str
    content: tuple[Block, ...]
    stop_reason: str
    usage: Mapping[str, Any]
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    opening: Mapping[str, Any] = {}
    closing: Mapping[str, Any] = {}
    cut: bool = False


def frames(answer: Answer) -> Iterator[bytes]:
    """Each event with its name and data, in order, with two pings."""
    start = _envelope(answer, [], {**answer.usage, "output_tokens": 1})
    yield frame("message_start", message={**start, "stop_reason": None, "stop_sequence": None, "stop_details": None})
    yield frame("ping")
    for index, block in enumerate(answer.content):
        yield from _block_frames(index, block, cut=answer.cut and index == len(answer.content) - 1)
    yield frame("ping")
    usage = {key: value for key, value in answer.usage.items() if key not in {"cache_creation", "service_tier"}}
    delta = {
        "stop_reason": answer.stop_reason, "stop_sequence": answer.stop_sequence, "stop_details": answer.stop_details,
    }  # fmt: skip
    yield frame("message_delta", delta=delta, usage=usage, **answer.closing)
    yield frame("message_stop")


def document(answer: Answer) -> bytes:
    """The same answer without streaming. A cut call has an empty input here, as JSON cannot hold half of it."""
    content = list(answer.content)
    if answer.cut and content:
        content[-1] = _halved(content[-1])
    whole = {**_envelope(answer, content, answer.usage), **answer.closing}
    return json.dumps(whole).encode()


def _envelope(answer: Answer, content: list[Block], usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "stop_details": answer.stop_details,
        "usage": usage,
        **answer.opening,
    }


def frame(name: str, **fields: Any) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields}, ensure_ascii=False)}\n\n".encode()


def _block_frames(index: int, block: Block, *, cut: bool) -> Iterator[bytes]:
    opening, deltas = _opened(block)
    yield frame("content_block_start", index=index, content_block=opening)
    for delta in deltas[: max(len(deltas) // 2, 1)] if cut else deltas:
        yield frame("content_block_delta", index=index, delta=delta)
    yield frame("content_block_stop", index=index)


def _opened(block: Block) -> tuple[Block, list[dict[str, Any]]]:
    """The block as it opens, empty, and the deltas that fill it."""
    match block["type"]:
        case "text":
            pieces = _pieces(block["text"], _TEXT_PIECE)
            texts: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in pieces]
            cited = block.get("citations")
            opened = {**block, "text": ""} if cited is None else {**block, "text": "", "citations": []}
            return opened, [*texts, *({"type": "citations_delta", "citation": citation} for citation in cited or ())]
        case "thinking":
            thoughts = _pieces(block["thinking"], _TEXT_PIECE)
            deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "compaction" if "signature" not in block:
            # A summary made at a threshold comes in one piece; one made on demand has no delta at all (wire page 7).
            delta = {"type": "compaction_delta", "content": block["content"]}
            if block.get("encrypted_content"):
                delta["encrypted_content"] = block["encrypted_content"]
            return {"type": "compaction", "content": None}, [delta]
        case "tool_use" | "server_tool_use":
            # The service opens each input with an empty piece; an input without keys stays at that.
            text = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            pieces = ["", *_pieces(text, _JSON_PIECE)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        case _:
            return block, []


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _halved(block: Block) -> Block:
    if block["type"] == "text":
        return {**block, "text": block["text"][: len(block["text"]) // 2]}
    return {**block, "input": {}} if block["type"] == "tool_use" else block
