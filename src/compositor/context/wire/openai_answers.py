"""An answer of the chat-completions interface as one of the Messages API: streamed bytes in, streamed bytes out.

Decides how pieces become blocks and events, and which reason an answer ended for. What comes out is read by the one decoder that all answers go
through (`decode.py`); nothing behind it knows the difference. Never keeps an answer.
"""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]

_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_TEXT, _THINKING = "text", "thinking"


class ChatDecoder:
    """Feed it the body as it arrives; it gives back the events of the Messages API. One instance reads one body.

    A line that is no JSON is passed on as it is, so that the decoder behind this one names it.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._started = False
        self._open: dict[str, int] = {}
        self._count = 0
        self._calls = 0
        self._stop: str | None = None
        self._usage: Json = {}
        self._ended = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._line(line.strip()) for line in lines)

    def flush(self) -> bytes:
        """The body has ended. An answer without a reason to end stays cut."""
        last = self._line(self._rest.strip()) if self._rest.strip() else b""
        self._rest = b""
        return last + self._end()

    def _line(self, line: bytes) -> bytes:
        field, _, value = line.partition(b":")
        if field != b"data" or not value.strip():
            return b""
        if value.strip() == b"[DONE]":
            return self._end()
        try:
            chunk = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return b"data: " + value.strip() + b"\n\n"
        return b"".join(_frame(event) for event in self._events(chunk)) if isinstance(chunk, dict) else b""

    def _events(self, chunk: Json) -> list[Json]:
        if chunk.get("error"):
            error = chunk["error"] if isinstance(chunk["error"], dict) else {"message": str(chunk["error"])}
            return [{"type": "error", "error": {"type": error.get("type") or "api_error", "message": error["message"]}}]
        events = [] if self._started else [self._start(chunk)]
        if isinstance(chunk.get("usage"), dict):
            self._usage = usage_of(chunk["usage"])
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            for kind, text in (
                (_THINKING, delta.get("reasoning_content") or delta.get("reasoning")),
                (_TEXT, delta.get("content")),
            ):
                if text:
                    events += self._say(kind, text)
            for call in delta.get("tool_calls") or ():
                events += self._call(call)
            self._stop = choice.get("finish_reason") or self._stop
        return events

    def _start(self, chunk: Json) -> Json:
        self._started = True
        message: Json = {
            "id": chunk.get("id") or "",
            "type": "message",
            "role": "assistant",
            "model": chunk.get("model") or "",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return {"type": "message_start", "message": message}

    def _say(self, kind: str, text: str) -> list[Json]:
        events: list[Json] = []
        if kind not in self._open:
            events += self._close(_TEXT) + self._close(_THINKING)
            events.append(self._begin(kind, {"type": kind, kind: ""}))
        delta = {"type": f"{kind}_delta", kind: text}
        return [*events, {"type": "content_block_delta", "index": self._open[kind], "delta": delta}]

    def _call(self, call: Json) -> list[Json]:
        """A piece of a call. Where a server does not number calls, an id or a name begins one."""
        number, function = call.get("index"), call.get("function") or {}
        if number is not None:
            key = f"call {number}"
            begins = key not in self._open
        else:
            begins = bool(call.get("id") or function.get("name")) or not self._calls
            key = f"unnumbered call {self._calls + begins}"
        events: list[Json] = []
        if begins:
            self._calls += 1
            block: Json = {"type": "tool_use", "id": call.get("id") or f"call_{self._calls}"}
            block |= {"name": function.get("name") or "", "input": {}}
            events += [*self._close(_TEXT), *self._close(_THINKING), self._begin(key, block)]
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = msgspec.json.encode(arguments).decode()
        if arguments:
            delta = {"type": "input_json_delta", "partial_json": arguments}
            events.append({"type": "content_block_delta", "index": self._open[key], "delta": delta})
        return events

    def _begin(self, key: str, block: Json) -> Json:
        self._open[key] = self._count
        self._count += 1
        return {"type": "content_block_start", "index": self._open[key], "content_block": block}

    def _close(self, key: str) -> list[Json]:
        index = self._open.pop(key, None)
        return [] if index is None else [{"type": "content_block_stop", "index": index}]

    def _end(self) -> bytes:
        if self._ended or not self._started or self._stop is None:
            return b""
        self._ended = True
        events = [event for key in tuple(self._open) for event in self._close(key)]
        delta = {"stop_reason": stop_reason(self._stop, has_calls=bool(self._calls)), "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": self._usage}, {"type": "message_stop"}]
        return b"".join(map(_frame, events))


def to_messages_answer(body: bytes) -> bytes:
    """A whole answer (not streamed) as a message of the Messages API. What is no answer comes back as it is."""
    try:
        answer = msgspec.json.decode(body)
        choice = answer["choices"][0]
        said = choice["message"]
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return body
    content: list[Json] = [{"type": "text", "text": said["content"]}] if said.get("content") else []
    for number, call in enumerate(said.get("tool_calls") or ()):
        content.append(
            {
                "type": "tool_use",
                "id": call.get("id") or f"call_{number}",
                "name": call["function"]["name"],
                "input": _arguments(call["function"].get("arguments")),
            }
        )
    calls = bool(said.get("tool_calls"))
    return msgspec.json.encode(
        {
            "id": answer.get("id") or "",
            "type": "message",
            "role": "assistant",
            "model": answer.get("model") or "",
            "content": content,
            "stop_reason": stop_reason(choice.get("finish_reason") or "stop", has_calls=calls),
            "stop_sequence": None,
            "usage": usage_of(answer.get("usage") or {}),
        }
    )


def stop_reason(finish: str, *, has_calls: bool) -> str:
    """Why the answer ended. Some servers say `stop` although they ask for tools."""
    if finish in {"tool_calls", "function_call"} or (finish == "stop" and has_calls):
        return "tool_use"
    return _STOPS.get(finish, "end_turn")


def usage_of(usage: Json) -> Json:
    """Token counts; what the server read from its own cache is no fresh input."""
    details = usage.get("prompt_tokens_details") or {}
    cached = int(details.get("cached_tokens") or 0)
    return {
        "input_tokens": max(int(usage.get("prompt_tokens") or 0) - cached, 0),
        "cache_read_input_tokens": cached,
        "output_tokens": int(usage.get("completion_tokens") or 0),
    }


def _arguments(arguments: object) -> object:
    """Arguments that are no JSON stay the text they are: the call is then cut and never runs."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return msgspec.json.decode(arguments) if arguments else {}
    except msgspec.DecodeError:
        return arguments


def _frame(event: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))
