"""A service on this machine that answers from a scene and notes when each request came: the measuring side, in a process of its own.

Decides how an answer is spelled (one JSON object, or a stream where that is asked for) and what is noted. Standard library only.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.peers.scenes import Scene, file_name


class Seen(NamedTuple):
    """One request, and when its first byte came (`time.perf_counter`)."""

    body: bytes
    at: float


class Service:
    """Serves one client at a time; `seen` has every request in order. `noticed` is called at the first byte of each."""

    def __init__(self, scene: Scene, noticed: Callable[[], None] = lambda: None) -> None:
        self.answers = scene.answers
        self.seen: list[Seen] = []
        self._noticed = noticed
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Service:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            while reader.peek(1):
                arrived = time.perf_counter()
                self._noticed()
                first = reader.readline().decode("latin-1")
                headers = dict(_headers(reader))
                body = _body(reader, headers)
                if not first.startswith("POST") or "/v1/messages" not in first or "count_tokens" in first:
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                self.seen.append(Seen(body, arrived))
                connection.sendall(self._answer(json.loads(body)))

    def _answer(self, body: dict[str, Any]) -> bytes:
        request = len(self.seen) - 1
        turn = self.answers[min(request, len(self.answers) - 1)]
        tools = {tool.get("name") for tool in body.get("tools", ())}
        message = _message(request, turn, shell="Read" not in tools)
        streamed = body.get("stream") is True
        data = b"".join(_events(message)) if streamed else json.dumps(message).encode()
        kind = "text/event-stream" if streamed else "application/json"
        return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data


def _headers(reader: Any) -> Iterator[tuple[str, str]]:
    while line := reader.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        yield name.lower(), value.strip()


def _body(reader: Any, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return bytes(reader.read(int(headers.get("content-length", 0))))
    pieces: list[bytes] = []
    while size := int(reader.readline(), 16):
        pieces.append(reader.read(size))
        reader.readline()
    reader.readline()
    return b"".join(pieces)


def _message(request: int, turn: tuple[int, ...], *, shell: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": f"Step {request}."}]
    for call in range(len(turn)):
        name = file_name(request, call)
        given = {"command": f"cat {name}"} if shell else {"file_path": name}
        content.append(
            {
                "type": "tool_use",
                "id": f"toolu_{request:06}_{call:02}",
                "name": "bash" if shell else "Read",
                "input": given,
            }
        )
    return {
        "id": f"msg_{request:06}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": "tool_use" if turn else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    start = {**message, "content": [], "stop_reason": None}
    yield _event({"type": "message_start", "message": start})
    for index, block in enumerate(message["content"]):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {**block, "text": ""}
        given = json.dumps(block["input"]) if is_call else block["text"]
        delta = (
            {"type": "input_json_delta", "partial_json": given} if is_call else {"type": "text_delta", "text": given}
        )
        yield _event({"type": "content_block_start", "index": index, "content_block": empty})
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}})
    yield _event({"type": "message_stop"})


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
