"""A real bubblewrap: what a confined command can write, read and reach, through whole turns of the agent."""

import http.server
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.sandboxes.bubblewrap import probe_bubblewrap
from compositor.policy.sandbox import SandboxPlan, may_reach_host, seatbelt_profile
from tests.edges.guarded import Session

pytestmark = [pytest.mark.edges, pytest.mark.anyio]


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    assert probe_bubblewrap().program is not None, "these tests need a bubblewrap that may make namespaces"


def sandboxed(**more: Any) -> dict[str, Any]:
    return {"sandbox": {"enabled": True, **more}}


async def output(session: Session, command: str) -> str:
    """What the model is told of a confined command."""
    await session.run([{"do": [{"run": command}]}, {"say": "done"}])
    body = json.loads(session.emulator.requests[-1].request.body)
    results = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    return json.dumps(results[-1]["content"])


def git(session: Session, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=session.project, capture_output=True, text=True, check=True).stdout


@pytest.mark.req("R363")
async def test_a_confined_command_runs_without_a_question_and_writes_in_the_project_only(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    outside = tmp_path / "outside"
    outside.mkdir()
    said = await output(
        session,
        f"touch inside; touch {outside}/x || echo refused; touch ~/y || echo refused; touch $TMPDIR/z && echo ok",
    )
    assert (session.project / "inside").exists()
    assert not (outside / "x").exists()
    assert not (session.home / "y").exists()
    assert said.count("refused") == 2
    assert "ok" in said
    assert "runs in the sandbox" in session.verdicts[-1].trace[-2].reason


async def test_what_runs_later_outside_cannot_be_changed_from_inside(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    git(session, "init", "-q")
    (session.project / ".mcp.json").write_text("{}")
    before = (session.project / ".git" / "config").read_text()
    command = (
        "python3 -c \"open('.git/config','a').write('x')\"; touch .git/hooks/pre-commit; echo 1 > .mcp.json; "
        "mkdir -p .claude; touch .claude/settings.json; ls"
    )
    await output(session, command)
    assert (session.project / ".git" / "config").read_text() == before
    assert not (session.project / ".git" / "hooks" / "pre-commit").exists()
    assert (session.project / ".mcp.json").read_text() == "{}"
    assert not (session.project / ".claude").exists()


async def test_git_works_inside(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    git(session, "init", "-q")
    await output(
        session, "touch a && git add -A && git -c user.name=a -c user.email=b commit -qm x && git log --oneline"
    )
    assert git(session, "log", "--format=%s") == "x\n"


async def test_denied_reads_are_covered_by_place_and_by_pattern(tmp_path: Path) -> None:
    rules = {"permissions": {"deny": ["Read(.env)", "Read(~/.ssh/**)"]}}
    session = Session(
        tmp_path, {**rules, **sandboxed(filesystem={"denyRead": ["~/keys"], "allowRead": ["~/keys/public"]})}
    )
    (session.project / "sub").mkdir()
    (session.home / ".ssh").mkdir()
    (session.home / "keys" / "public").mkdir(parents=True)
    for path in (
        "project/.env",
        "project/sub/.env",
        "home/.ssh/id",
        "home/keys/k",
        "home/keys/public/p",
        "project/plain",
    ):
        (tmp_path / path).write_text(f"content-of-{path}")
    # The program reads them by names that no rule can see.
    (session.project / "walk.py").write_text(
        "import os, pathlib\n"
        "for root in ('.', os.environ['HOME']):\n"
        "    for path in pathlib.Path(root).rglob('*'):\n"
        "        try: print(path.read_text())\n"
        "        except OSError: print('refused')\n"
    )
    said = await output(session, "python3 walk.py")
    assert "content-of-project/plain" in said
    assert "content-of-home/keys/public/p" in said
    for path in ("project/.env", "project/sub/.env", "home/.ssh/id", "home/keys/k"):
        assert f"content-of-{path}" not in said


async def test_no_process_outside_can_be_seen_or_ended(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    said = await output(session, "ls /proc | grep -c '^[0-9]'; id -u; cat /proc/self/status | grep CapEff")
    assert "0000000000000000" in said
    assert int(said.strip('"[]{} ').split("\\n")[0].rsplit('"', 1)[-1]) < 20


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the page")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def page() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_port
        running.shutdown()


FETCH = "import urllib.request as u;print(u.urlopen('http://{host}:{port}/').read())"


async def test_there_is_no_network_unless_a_host_is_allowed(tmp_path: Path, page: int) -> None:
    session = Session(tmp_path, sandboxed())
    said = await output(session, f'python3 -c "{FETCH.format(host="127.0.0.1", port=page)}"')
    assert "the page" not in said


async def test_the_proxy_lets_allowed_hosts_through_and_no_other(tmp_path: Path, page: int) -> None:
    session = Session(tmp_path, sandboxed(network={"allowedDomains": ["localhost"]}))
    said = await output(session, f'python3 -c "{FETCH.format(host="localhost", port=page)}"')
    assert "the page" in said
    said = await output(session, f'python3 -c "{FETCH.format(host="127.0.0.1", port=page)}"')
    assert "the page" not in said
    assert "403" in said
    # Past the proxy there is no way out.
    said = await output(
        session,
        f'env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy python3 -c "{FETCH.format(host="localhost", port=page)}"',
    )
    assert "the page" not in said


async def test_connect_passes_bytes_both_ways(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def echo() -> None:
            one, _ = listener.accept()
            with one:
                one.sendall(one.recv(100).upper())

        threading.Thread(target=echo, daemon=True).start()
        port = listener.getsockname()[1]
        session = Session(tmp_path, sandboxed(network={"allowedDomains": ["localhost"]}))
        script = (
            "import socket;s=socket.create_connection(('127.0.0.1',3128));"
            f"s.sendall(b'CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n');print(s.recv(99));s.sendall(b'hello');print(s.recv(99))"
        )
        (session.project / "s.py").write_text(script)
        assert "HELLO" in await output(session, "python3 s.py")


@pytest.mark.req("R363", "R371")
async def test_a_required_sandbox_that_cannot_run_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    allow = {"permissions": {"allow": ["Bash(touch *)"]}}
    session = Session(tmp_path, {**allow, **sandboxed(failIfUnavailable=True)})
    await output(session, "touch made")
    assert not (session.project / "made").exists()
    assert "bubblewrap is not installed" in session.verdicts[-1].verdict.reason
    session = Session(tmp_path, {**allow, **sandboxed()})
    await output(session, "touch made")
    assert (session.project / "made").exists()
    assert any("bubblewrap is not installed" in found.reason for found in session.verdicts[-1].trace)


async def test_an_excluded_command_runs_outside_and_passes_the_gate_like_any_other(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed(excludedCommands=["touch *"]))
    await output(session, "touch made")
    assert not (session.project / "made").exists()
    session = Session(
        tmp_path, {"permissions": {"allow": ["Bash(touch *)"]}, **sandboxed(excludedCommands=["touch *"])}
    )
    await output(session, f"touch {session.project}/made; touch {tmp_path}/beside")
    assert (tmp_path / "beside").exists()


@pytest.mark.req("R372")
async def test_a_repository_can_ask_for_a_sandbox_and_not_loosen_one(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    (session.project / ".claude").mkdir()
    loose = {"enabled": False, "excludedCommands": ["*"], "filesystem": {"allowWrite": [str(tmp_path)]}}
    (session.project / ".claude" / "settings.json").write_text(json.dumps({"sandbox": loose}))
    await output(session, f"touch made; touch {tmp_path}/beside")
    assert (session.project / "made").exists()
    assert not (tmp_path / "beside").exists()


async def test_deny_rules_hold_inside_too(tmp_path: Path) -> None:
    session = Session(tmp_path, {"permissions": {"deny": ["Bash(touch *)"]}, **sandboxed()})
    await output(session, "ls && touch made")
    assert not (session.project / "made").exists()


def test_the_profile_for_macos_says_the_same() -> None:
    """Its text only: there is no `sandbox-exec` where these tests run."""
    plan = SandboxPlan(writable=("/w",), kept=("/w/.git/hooks",), unreadable=('/h/a"b',), readable=("/h/ok",))
    assert seatbelt_profile(plan, temporary="/t").splitlines() == [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (subpath "/w"))',
        '(allow file-write* (subpath "/t"))',
        '(allow file-write* (literal "/dev/null") (literal "/dev/tty") (literal "/dev/stdout"))',
        '(deny file-write* (subpath "/w/.git/hooks"))',
        '(deny file-read* (subpath "/h/a\\"b"))',
        '(allow file-read* (subpath "/h/ok"))',
        "(deny network*)",
    ]


def test_hosts_are_compared_as_names() -> None:
    plan = SandboxPlan(writable=(), domains=("a.test", "*.b.test"), denied_domains=("x.b.test",))
    reached = ("a.test", "A.TEST.", "c.b.test", "d.c.b.test")
    assert all(may_reach_host(host, plan) for host in reached)
    assert not any(
        may_reach_host(host, plan) for host in ("b.test", "x.b.test", "aa.test", "a.test.evil", "", "1.2.3.4")
    )
