"""A whole turn over a real server on this machine that speaks chat-completions: tool call, result, answer, usage."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.cli.main import main

pytestmark = pytest.mark.edges


def sse(*chunks: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "local", "choices": [{"delta": fields, "finish_reason": finish}]}


CALL = {"index": 0, "id": "call_1", "function": {"name": "Read", "arguments": '{"file_path": "a.txt"}'}}
USAGE = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 4}}
ANSWERS = [
    sse(delta(content="I look."), delta("tool_calls", tool_calls=[CALL]), USAGE),
    sse(delta(content="It says alpha."), delta("stop"), USAGE),
]


class Server(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []  # noqa: RUF012 - one server, one test

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        answer = ANSWERS[len(self.seen) - 1]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


def test_the_address_of_a_compatible_server_may_end_in_its_version() -> None:
    for base in ("http://localhost:11434", "http://localhost:11434/v1", "http://localhost:11434/v1/"):
        endpoint = resolve_endpoint({"ANTHROPIC_BASE_URL": base}, "/v1/chat/completions")
        assert endpoint.url == "http://localhost:11434/v1/chat/completions"


def test_a_turn_with_a_tool_over_the_other_interface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Server.seen.clear()
    server = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("alpha\n")
    settings = json.dumps({"compositor": {"platform": "openai-compatible"}})
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    arguments = ["run", "what does a.txt say", "--project", str(project), "--model", "local", "--settings", settings]
    monkeypatch.setattr("sys.argv", ["compositor", *arguments])
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        server.shutdown()
        server.server_close()
    assert code in (0, None), capsys.readouterr().err
    assert "It says alpha." in capsys.readouterr().out
    (path, headers, first), (_, _, second) = Server.seen
    assert path == "/v1/chat/completions"
    assert not any(name.startswith("anthropic-") for name in headers)
    assert first["messages"][0]["role"] == "system"
    assert {tool["type"] for tool in first["tools"]} == {"function"}
    assert second["messages"][: len(first["messages"])] == first["messages"]
    call, result = second["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] == "call_1"
    assert "alpha" in result["content"]
