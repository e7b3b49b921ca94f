"""`compositor compile --count` against the stand-in on a port: the service's own count beside the estimate; nothing runs and nothing is stored."""

import json
import os
import subprocess
import sys

import pytest

from compositor.emulator.asgi import EmulatorApp
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.server import EmulatorServer

pytestmark = pytest.mark.edges


@pytest.fixture
def service():
    emulator = Emulator(parse_script("turns: [{say: never asked for}]"))
    with EmulatorServer(EmulatorApp(emulator)).background() as url:
        yield url, emulator


def compiled(tmp_path, *arguments, **environment):
    (tmp_path / "project").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "compositor", "compile", "hello", *arguments],
        check=False,
        cwd=tmp_path / "project",
        env={
            "HOME": str(tmp_path),
            "COMPOSITOR_HOME": str(tmp_path / "state"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


def on_service(url):
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "k-1",
    }


def test_the_service_counts_the_request_that_would_be_sent(service, tmp_path):
    url, emulator = service
    settings = tmp_path / ".claude"
    settings.mkdir()
    (settings / "settings.json").write_text(json.dumps({"compositor": {"platform": "claude-api"}}), encoding="utf-8")
    plain = json.loads(compiled(tmp_path, "--json", **on_service(url)).stdout)
    ended = compiled(tmp_path, "--json", "--count", **on_service(url))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["body"] == plain["body"]
    assert found["tokens"].pop("counted") > 1_000
    assert found["tokens"] == plain["tokens"]
    (asked,) = emulator.requests
    assert asked.request.path == "/v1/messages/count_tokens"
    sent = json.loads(asked.request.body)
    assert sent == {name: value for name, value in plain["body"].items() if name in sent}
    assert not {"max_tokens", "stream"} & set(sent)
    assert "The service counts " in compiled(tmp_path, "--count", **on_service(url)).stdout


def test_where_it_cannot_be_asked_it_says_so(tmp_path):
    without = compiled(tmp_path, "--count")
    assert (without.returncode, "there is no key" in without.stderr) == (2, True)
    gateway = compiled(tmp_path, "--count", ANTHROPIC_BASE_URL="http://127.0.0.1:9", ANTHROPIC_API_KEY="k")
    assert (gateway.returncode, "tokens are not counted by" in gateway.stderr) == (2, True)
    both = compiled(tmp_path, "--count", "--body")
    assert (both.returncode, "'--count' has no place beside '--body'" in both.stderr) == (2, True)
