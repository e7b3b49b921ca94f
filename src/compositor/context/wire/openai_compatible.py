"""A request body of the Messages API as one of the chat-completions interface, for local and compatible servers.

Decides what each field, message and block becomes there, and names what that interface cannot say. The same body gives the same bytes, and a longer
conversation begins with the bytes of a shorter one, so that a server's own prefix cache holds. Answers are `openai_answers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor.types.diagnostics import Diagnostic, Severity

STEP = "chat-completions"

Json = dict[str, Any]


class ChatRequest(Struct, frozen=True):
    """The body to send, and what had to be left out of it, each kind once with its number."""

    body: bytes
    diagnostics: tuple[Diagnostic, ...]


def to_chat(body: bytes) -> ChatRequest:
    """Translate one request body. It must be what the product itself compiles: nothing is validated here."""
    fields: Mapping[str, Any] = msgspec.json.decode(body)
    lost = _Lost()
    chat: Json = {"model": fields["model"], "messages": list(_messages(fields, lost))}
    tools = [_tool(tool) for tool in _offered(fields, lost)]
    if tools:
        chat["tools"] = tools
    for name, value in fields.items():
        row = _FIELDS.get(name)
        if row is not None:
            chat.update(row(value))
        elif name not in _TAKEN:
            lost.add(f"the field {name!r}")
    if chat.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    return ChatRequest(msgspec.json.encode(chat), lost.diagnostics())


class _Lost:
    """Counts what cannot be said, by kind, in the order of arrival."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(
            Diagnostic(
                "wire.not_expressible",
                f"The chat-completions interface cannot say {what}; it was left out{_times(count)}",
                severity=Severity.INFO,
                step=STEP,
            )
            for what, count in self._counts.items()
        )


def _times(count: int) -> str:
    return "" if count == 1 else f" ({count} times)"


def _choice(value: Mapping[str, Any]) -> Json:
    kind = value.get("type")
    choice: Any = {"any": "required", "none": "none"}.get(str(kind), "auto")
    if kind == "tool":
        choice = {"type": "function", "function": {"name": value.get("name")}}
    parallel = {"parallel_tool_calls": False} if value.get("disable_parallel_tool_use") else {}
    return {"tool_choice": choice, **parallel}


_FIELDS: Mapping[str, Callable[[Any], Json]] = {
    "max_tokens": lambda value: {"max_tokens": value},
    "stream": lambda value: {"stream": value},
    "temperature": lambda value: {"temperature": value},
    "top_p": lambda value: {"top_p": value},
    "stop_sequences": lambda value: {"stop": value},
    "tool_choice": _choice,
    "metadata": lambda value: {"user": value["user_id"]} if value.get("user_id") else {},
}
_TAKEN = frozenset({"model", "messages", "system", "tools"})


def _offered(fields: Mapping[str, Any], lost: _Lost) -> Iterator[Json]:
    """Every tool that is not deferred, and of the deferred ones those that a result has referred to."""
    found = {item["tool_name"] for item in _references(fields["messages"])}
    for tool in fields.get("tools", ()):
        if "input_schema" not in tool:
            lost.add(f"the service's own tool {tool.get('name')!r}")
        elif not tool.get("defer_loading") or tool["name"] in found:
            yield tool


def _references(messages: Sequence[Json]) -> Iterator[Json]:
    for message in messages:
        for block in _blocks(message["content"]):
            content = block.get("content")
            if block["type"] == "tool_result" and isinstance(content, list):
                yield from (item for item in content if item.get("type") == "tool_reference")


def _tool(tool: Json) -> Json:
    function = {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}


def _messages(fields: Mapping[str, Any], lost: _Lost) -> Iterator[Json]:
    system = "\n\n".join(block["text"] for block in _blocks(fields.get("system") or []))
    if system:
        yield {"role": "system", "content": system}
    for message in fields["messages"]:
        blocks = _blocks(message["content"])
        match message["role"]:
            case "assistant":
                yield from _assistant(blocks, lost)
            case "system":
                yield {"role": "system", "content": "\n\n".join(block["text"] for block in blocks if "text" in block)}
            case _:
                yield from _user(blocks, lost)


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _assistant(blocks: Sequence[Json], lost: _Lost) -> Iterator[Json]:
    texts: list[str] = []
    calls: list[Json] = []
    for block in blocks:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_use":
                arguments = msgspec.json.encode(block["input"]).decode()
                function = {"name": block["name"], "arguments": arguments}
                calls.append({"id": block["id"], "type": "function", "function": function})
            case kind:
                lost.add(f"a {kind!r} block")
    if texts or calls:
        text = "\n\n".join(texts)
        yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _user(blocks: Sequence[Json], lost: _Lost) -> Iterator[Json]:
    """Each result is a message of its own; its images come in the user message behind the results, which is the only one that may show any."""
    parts: list[Json] = []
    for block in blocks:
        if block["type"] != "tool_result":
            parts.extend(_parts(block, lost))
            continue
        texts: list[str] = []
        for item in _blocks(block.get("content")):
            for part in _parts(item, lost):
                if part["type"] == "text":
                    texts.append(part["text"])
                else:
                    parts += [{"type": "text", "text": f"(From the result of call {block['tool_use_id']}:)"}, part]
        text = "\n\n".join(texts)
        shown = f"Error: {text}" if block.get("is_error") else text
        yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": shown}
    if not parts:
        return
    if all(part["type"] == "text" for part in parts):
        yield {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}
    else:
        yield {"role": "user", "content": parts}


def _parts(block: Json, lost: _Lost) -> Iterator[Json]:
    match block["type"]:
        case "text":
            yield {"type": "text", "text": block["text"]}
        case "image":
            yield _image(block["source"], lost)
        case "tool_reference":
            yield {"type": "text", "text": f"The tool {block['tool_name']} can be called now."}
        case "document" if block["source"].get("type") == "text":
            yield {"type": "text", "text": block["source"]["data"]}
        case "search_result":
            found = "\n".join(item["text"] for item in block["content"] if "text" in item)
            yield {"type": "text", "text": f"{block['title']} ({block['source']})\n{found}"}
        case kind:
            lost.add(f"a {kind!r} block")
            yield {"type": "text", "text": f"(A {kind} stood here; this service cannot take it.)"}


def _image(source: Json, lost: _Lost) -> Json:
    match source.get("type"):
        case "base64":
            return {
                "type": "image_url",
                "image_url": {"url": f"data:{source['media_type']};base64,{source['data']}"},
            }
        case "url":
            return {"type": "image_url", "image_url": {"url": source["url"]}}
        case _:
            lost.add("an image by file id")
            return {"type": "text", "text": "(An image stood here; this service cannot take it.)"}
