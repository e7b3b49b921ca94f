"""Keys from a command and from a file, gateways with headers of their own, and a proxy: real processes and servers of this machine."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.adapters.providers.key_command import KeyCommand, key_command, with_key_files
from compositor.errors import ConfigError, ProviderUnavailableError

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

PATH = {"PATH": "/usr/bin:/bin"}


@contextmanager
def keeper(*statuses):
    """A server that keeps the address and the headers of each request, and answers with these statuses, then with 200."""
    seen = []
    left = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(left.pop(0) if left else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


async def post(url, keys=None, **environment):
    endpoint = resolve_endpoint({"ANTHROPIC_BASE_URL": url, **environment})
    async with (
        AnthropicTransport(endpoint, keys=keys) as transport,
        transport.send([], iter([b"{", b"}"]), 2) as response,
    ):
        return response.status


async def test_a_command_prints_the_key_and_is_run_once_while_it_is_fresh(tmp_path):
    runs = tmp_path / "runs"
    now = [0.0]
    keys = KeyCommand(f"echo x >> {runs}; echo key-from-command", PATH, ttl=10, clock=lambda: now[0])
    with keeper() as (url, seen):
        assert [await post(url, keys), await post(url, keys)] == [200, 200]
        now[0] = 11.0
        await post(url, keys)
    assert len(runs.read_text(encoding="utf-8").split()) == 2
    assert {headers["x-api-key"] for _, headers, _ in seen} == {"key-from-command"}
    assert {headers["authorization"] for _, headers, _ in seen} == {"Bearer key-from-command"}


async def test_a_key_that_was_taken_back_is_asked_for_once_more_with_the_same_bytes(tmp_path):
    keys = KeyCommand(f"echo x >> {tmp_path}/runs; echo key-$(wc -l < {tmp_path}/runs)", PATH)
    with keeper(401) as (url, seen):
        assert await post(url, keys) == 200
    assert [headers["x-api-key"] for _, headers, _ in seen] == ["key-1", "key-2"]
    assert [body for _, _, body in seen] == [b"{}", b"{}"]
    with keeper(401, 401) as (url, seen):
        assert await post(url, keys) == 401
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo secret-output; exit 3", "ended with exit code 3"),
        ("true", "printed nothing"),
    ],
)
async def test_a_command_that_gives_no_key_is_one_sentence_without_what_it_printed(command, said):
    with pytest.raises(ProviderUnavailableError, match=said) as caught:
        await KeyCommand(command, PATH).current()
    assert "secret-output" not in str(caught.value)


async def test_a_printed_key_that_cannot_stand_in_a_header_is_refused_unseen():
    with pytest.raises(ConfigError) as caught:
        await KeyCommand("printf 'one\\ntwo-secret'", PATH).current()
    assert "two-secret" not in str(caught.value)


def test_the_lifetime_is_that_of_the_variable():
    assert key_command("true", {"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "1500"})._ttl == 1.5
    assert key_command("true", {})._ttl == 300


def test_a_key_in_a_file_counts_where_the_variable_is_empty(tmp_path):
    file = tmp_path / "key"
    file.write_text("key-from-file\n", encoding="utf-8")
    found = resolve_endpoint(with_key_files({"ANTHROPIC_API_KEY_FILE": str(file)}))
    assert found.api_key.reveal() == "key-from-file"
    both = resolve_endpoint(with_key_files({"ANTHROPIC_API_KEY_FILE": str(file), "ANTHROPIC_API_KEY": "own"}))
    assert both.api_key.reveal() == "own"
    with pytest.raises(ConfigError, match="cannot be read"):
        with_key_files({"ANTHROPIC_AUTH_TOKEN_FILE": str(tmp_path / "none")})


async def test_a_gateway_gets_the_headers_of_the_user():
    with keeper() as (url, seen):
        await post(url, ANTHROPIC_CUSTOM_HEADERS="X-Team: red\nX-Trace: on", ANTHROPIC_AUTH_TOKEN="token")
    _, headers, _ = seen[0]
    assert (headers["x-team"], headers["x-trace"], headers["authorization"]) == ("red", "on", "Bearer token")


async def test_a_proxy_of_the_environment_is_used_and_its_exceptions_hold(monkeypatch):
    for name in ("http_proxy", "all_proxy", "ALL_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with keeper() as (proxy, through), keeper() as (direct, straight):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert await post("http://gateway.invalid") == 200
        assert await post(direct) == 200
    assert [path for path, _, _ in through] == ["http://gateway.invalid/v1/messages"]
    assert [path for path, _, _ in straight] == ["/v1/messages"]


def test_a_repository_cannot_name_the_command(tmp_path):
    """The setting of a project is not heard: nothing runs, and the run has no key."""
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    settings = {"apiKeyHelper": f"touch {tmp_path}/ran; echo stolen"}
    (project / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    environment = {"HOME": str(tmp_path), "COMPOSITOR_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"],
                   "PYTHONPATH": os.environ.get("PYTHONPATH", "")}  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-m", "compositor", "run", "hi"], check=False, cwd=project, env=environment, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 3, ran.stderr
    assert not (tmp_path / "ran").exists()
