"""Real Landlock: what stays writable, readable and reachable where bubblewrap cannot run."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters import enforcement
from compositor.adapters.sandboxes.bubblewrap import Probe
from compositor.adapters.sandboxes.landlock import probe_landlock
from compositor.types.verdicts import Allow, Deny
from tests.edges.guarded import Says, Session

pytestmark = [pytest.mark.edges, pytest.mark.anyio]


@pytest.fixture(autouse=True)
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bubblewrap is told to be missing."""
    assert probe_landlock() >= 6, "these tests need a kernel that confines signals with Landlock"
    monkeypatch.setattr(enforcement, "probe_bubblewrap", lambda: Probe(None, "bubblewrap is not installed"))


def sandboxed(**more: Any) -> dict[str, Any]:
    permissions = {"allow": ["Bash"], **more.pop("permissions", {})}
    return {"permissions": permissions, "sandbox": {"enabled": True, **more}}


async def output(session: Session, command: str, person: Says | None = None) -> str:
    """What the model is told of the command."""
    await session.run([{"do": [{"run": command}]}, {"say": "done"}], person)
    body = json.loads(session.emulator.requests[-1].request.body)
    results = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    return json.dumps(results[-1]["content"])


async def test_a_confined_command_writes_in_the_project_and_its_own_folder_only(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    (session.project / "old").write_text("old")
    command = (
        "python3 -c 'import os,tempfile\n"
        'for place in ("made", "../beside", os.path.expanduser("~/.bashrc"), tempfile.gettempdir() + "/mine", "/tmp/no"):\n'
        '    try: open(place, "w").write("x"); print("wrote", os.path.basename(place))\n'
        '    except OSError as problem: print("kept", os.path.basename(place), problem.errno)\n'
        'os.truncate("old", 0); os.rename("old", "new")\n'
        "'"
    )
    sent = await output(session, command, Says(answer=True))
    assert "wrote made" in sent
    assert "wrote mine" in sent
    assert "kept beside 13" in sent
    assert "kept .bashrc 13" in sent
    assert "kept no 13" in sent
    assert (session.project / "new").read_text() == ""
    assert not (tmp_path / "beside").exists()


async def test_hidden_files_cannot_be_read_by_place_pattern_or_link(tmp_path: Path) -> None:
    denied = {"deny": ["Read(~/.ssh/**)", "Read(secret*)"]}
    session = Session(tmp_path, sandboxed(permissions=denied))
    (session.home / ".ssh").mkdir()
    (session.home / ".ssh" / "id").write_text("PRIVATE")
    (session.project / "secret.txt").write_text("TOKEN")
    (session.project / "plain.txt").write_text("PLAIN")
    (session.project / "link").symlink_to(session.home / ".ssh")
    script = "import glob\nfor name in sorted(glob.glob('*.txt')) + ['link/id', '/proc/self/root' + '@HOME@/.ssh/id']:\n    try: print(open(name).read())\n    except OSError as problem: print('kept', problem.errno)\n"  # fmt: skip
    (session.project / "look.py").write_text(script.replace("@HOME@", str(session.home)))
    sent = await output(session, "python3 look.py", Says(answer=True))
    assert "PLAIN" in sent
    assert "PRIVATE" not in sent
    assert "TOKEN" not in sent
    assert sent.count("kept 13") == 3


async def test_no_connection_is_made(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        script = f"import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 2); print('through')\nexcept OSError as problem: print('kept', problem.errno)\n"  # fmt: skip
        (session.project / "reach.py").write_text(script)
        sent = await output(session, "python3 reach.py", Says(answer=True))
    assert "kept 13" in sent
    assert "through" not in sent


@pytest.fixture
def outside() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


async def test_no_process_outside_is_ended(tmp_path: Path, outside: subprocess.Popen[bytes]) -> None:
    said = await output(Session(tmp_path, sandboxed()), f"kill -9 {outside.pid}", Says(answer=True))
    assert "not permitted" in said
    assert outside.poll() is None


async def test_it_frees_no_command_from_a_question(tmp_path: Path) -> None:
    session = Session(tmp_path, {"sandbox": {"enabled": True}})
    person = Says(answer=False)
    await output(session, "touch made", person)
    assert len(person.asked) == 1
    assert not (session.project / "made").exists()


async def test_it_is_not_what_a_required_sandbox_means(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed(failIfUnavailable=True))
    await output(session, "touch made")
    assert not (session.project / "made").exists()
    assert isinstance(session.verdicts[0].verdict, Deny)
    assert "weaker borders" in session.verdicts[0].verdict.reason


async def test_the_trace_says_what_confines_and_nothing_is_left_behind(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    await output(session, "touch made")
    assert isinstance(session.verdicts[0].verdict, Allow)
    assert any("Landlock" in found.reason for found in session.verdicts[0].trace)
    assert (session.project / "made").exists()
    assert list((session.state / "sandbox").rglob(".plan-*")) == []


@pytest.mark.req("R370")
async def test_what_the_machine_lacks_stands_in_the_log(tmp_path: Path) -> None:
    session = Session(tmp_path, sandboxed())
    await output(session, "touch made")
    change = session.log()[0]
    assert (change["type"], change["cause"], change["field"]) == ("change", "platform_ability", "sandbox")
    assert "bubblewrap is not installed" in change["after"]
