"""A session that goes on: the recorded head is sent, its cache is read, and what is new stands at the tail (F12)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.adapters.sessions.reading import read_history, read_transcript
from compositor.config.flags import Flags
from compositor.context.prompt.sections import tone_style
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opened, Opening, open_session
from compositor.ports import Permission
from compositor.runtime.events import TurnResult
from compositor.types.entries import AttachmentEntry
from compositor.wiring import build_agent

pytestmark = pytest.mark.anyio

SAYS = "turns:\n" + "".join(f"  - {{say: answer {number}}}\n" for number in range(9))


class No:
    async def ask(self, permission: Permission) -> bool:
        return False


class Sessions:
    """One project, one home and one service; every turn is a process of its own as far as memory goes."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        (self.project / "CLAUDE.md").write_text("# rules\n\nBe brief.\n")
        self.home = root / "state"
        self.emulator = Emulator(parse_script(SAYS))
        self.opened: Opened | None = None

    def open(self, resume: str | None = None, **flags: object) -> Opened:
        environ = {"HOME": str(self.project.parent), "COMPOSITOR_HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        opening = Opening(flags=Flags(**flags), project=str(self.project), environ=environ, resume=resume)  # type: ignore[arg-type]
        return open_session(opening)

    async def turn(self, prompt: str, resume: str | None = None, **flags: object) -> TurnResult:
        self.opened = self.open(resume, **flags)
        transport = AnthropicTransport(
            Endpoint(url="http://emulator.invalid/v1/messages"), transport=EmulatorTransport(self.emulator)
        )
        async with transport as line:
            agent, store = build_agent(self.opened, transport=line, watch=lambda _: None, asker=No())
            with store:
                self.path = Path(store.path)
                return await agent.submit(prompt)

    @property
    def session(self) -> str:
        assert self.opened is not None
        return self.opened.header.session_id

    def bodies(self) -> list[dict[str, object]]:
        return [msgspec.json.decode(recorded.request.body) for recorded in self.emulator.requests]

    def codes(self) -> list[str]:
        assert self.opened is not None
        return [found.code for found in self.opened.diagnostics]


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


def git(project: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)


def plain(messages: object) -> str:
    return json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', "")


def assert_replayed(sessions: Sessions, result: TurnResult, news: str) -> None:
    """The first request's head and messages lead the last one; the cache was read; `news` stands behind them only."""
    first, last = sessions.bodies()[0], sessions.bodies()[-1]
    assert (last["tools"], last["system"]) == (first["tools"], first["system"])
    before = plain(first["messages"])
    now = plain(last["messages"])
    assert now.startswith(before[:-1])
    assert news not in json.dumps([first["system"], first["messages"]])
    assert news in json.dumps(last["messages"][-1])  # type: ignore[index]
    assert "resume.kept" in sessions.codes()
    assert "resume.differs" not in sessions.codes()
    sent = last["system"]
    assert result.usage.read > len(json.dumps([first["tools"], sent])) // 8


@pytest.mark.req("R071", "R347", "R424")
async def test_the_git_state_moved(sessions: Sessions) -> None:
    git(sessions.project, "init", "-q", "-b", "main")
    git(sessions.project, "add", ".")
    git(sessions.project, "commit", "-q", "-m", "begin")
    await sessions.turn("first")
    git(sessions.project, "checkout", "-q", "-b", "wholly-other-branch")
    result = await sessions.turn("second", sessions.session)
    assert_replayed(sessions, result, "wholly-other-branch")


@pytest.mark.req("R347", "R424")
async def test_a_memory_file_was_added(sessions: Sessions) -> None:
    await sessions.turn("first")
    (sessions.project / "CLAUDE.local.md").write_text("Never touch the north wing.\n")
    result = await sessions.turn("second", sessions.session)
    assert_replayed(sessions, result, "Never touch the north wing.")


@pytest.mark.req("R347", "R424")
async def test_the_program_was_upgraded(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    await sessions.turn("first")
    monkeypatch.setattr(tone_style, "_TEXT", "# Tone\n\nSpeak like a sailor.")
    result = await sessions.turn("second", sessions.session)
    assert_replayed(sessions, result, "Speak like a sailor.")


@pytest.mark.req("R340", "R342", "R343")
async def test_news_is_told_once_and_told_again_when_it_changes_back(sessions: Sessions) -> None:
    await sessions.turn("first")
    memory = sessions.project / "CLAUDE.md"
    before = memory.read_text()
    memory.write_text("# rules\n\nBe long-winded.\n")
    for prompt in ("second", "third"):
        await sessions.turn(prompt, sessions.session)
    notes = [one for one in read_transcript(sessions.path).entries if isinstance(one, AttachmentEntry)]
    assert [note.attachment.kind for note in notes] == ["memory_update"]
    memory.write_text(before)
    await sessions.turn("fourth", sessions.session)
    notes = [one for one in read_transcript(sessions.path).entries if isinstance(one, AttachmentEntry)]
    assert len(notes) == 2
    assert "again as it stands at the beginning" in notes[-1].attachment.text  # type: ignore[union-attr]


@pytest.mark.req("R424")
async def test_a_resume_proves_itself(sessions: Sessions) -> None:
    await sessions.turn("first")
    opened = sessions.open(sessions.session)
    (proved,) = [found for found in opened.diagnostics if "begins with the bytes" in found.message]
    assert read_history(sessions.path).journal.sends[-1].record.view_digest.startswith(proved.where)
    assert (opened.events, opened.news) == ((), ())


async def test_a_damaged_head_costs_only_itself(sessions: Sessions) -> None:
    await sessions.turn("first")
    (head,) = (sessions.home / "heads").iterdir()
    head.write_text('{"torn')
    result = await sessions.turn("second", sessions.session)
    assert result.text == "answer 1"
    assert "resume.head" in sessions.codes()
    # The same parts give the same head again: what was sent before is still there to be read.
    assert result.usage.read > 0


async def test_a_damaged_head_and_other_surroundings_are_a_named_event(sessions: Sessions) -> None:
    await sessions.turn("first")
    (head,) = (sessions.home / "heads").iterdir()
    head.write_text('{"torn')
    (sessions.project / "CLAUDE.md").write_text("# other rules\n")
    await sessions.turn("second", sessions.session)
    assert "resume.head" in sessions.codes()
    (event,) = read_transcript(sessions.path).journal.events
    assert event.name.value == "head_rebuild"
    assert "cannot be read" in event.cause
    assert sessions.bodies()[-1]["system"] is not None


@pytest.mark.req("R158", "R424")
async def test_a_damaged_line_is_the_cause_of_a_difference(sessions: Sessions) -> None:
    await sessions.turn("first")
    await sessions.turn("second", sessions.session)
    lines = sessions.path.read_bytes().split(b"\n")
    broken = next(place for place, line in enumerate(lines) if b'"answer 0"' in line)
    lines[broken] = b"\0" * len(lines[broken])
    sessions.path.write_bytes(b"\n".join(lines))
    result = await sessions.turn("third", sessions.session)
    assert result.text == "answer 2"
    assert sessions.opened is not None
    (told,) = [found for found in sessions.opened.diagnostics if found.code == "resume.differs"]
    assert "1 damaged line" in told.message
    assert [event.name.value for event in sessions.opened.events] == ["cold_clean"]


FOREIGN = [
    {"type": "user", "uuid": "f1", "parentUuid": None, "message": {"role": "user", "content": "from elsewhere"}},
    {
        "type": "assistant",
        "uuid": "f2",
        "parentUuid": "f1",
        "message": {
            "id": "m1",
            "role": "assistant",
            "model": "claude-x",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "well"}],
        },
    },
]


@pytest.mark.req("R149", "R423")
async def test_a_foreign_transcript_goes_on_in_a_session_of_its_own(sessions: Sessions, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.jsonl"
    envelope = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "isSidechain": False}
    file.write_text("".join(json.dumps({**record, **envelope}) + "\n" for record in FOREIGN))
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    await sessions.turn("go on", str(file))
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    stored = read_history(sessions.path)
    assert stored.header is not None
    assert stored.header.imported_from == str(file)
    assert [entry.uuid for entry in stored.path.entries[:2]] == ["f1", "f2"]
    sent = json.dumps(sessions.bodies()[-1]["messages"])
    assert "from elsewhere" in sent
    assert "well" in sent
    assert "thinking" not in sent
    await sessions.turn("and on", sessions.session)
    assert "resume.differs" not in sessions.codes()
    assert "from elsewhere" in json.dumps(sessions.bodies()[-1]["messages"])


@pytest.mark.req("R345")
async def test_a_file_that_changed_while_the_session_was_closed_is_told_once(sessions: Sessions) -> None:
    sessions.emulator = Emulator(parse_script("turns:\n  - {do: [{read: CLAUDE.md}, {read: notes.txt}]}\n" + SAYS[7:]))
    notes = sessions.project / "notes.txt"
    notes.write_text("one\n")
    await sessions.turn("first")
    await sessions.turn("second", sessions.session)
    assert "notes.txt has changed" not in json.dumps(sessions.bodies()[-1])
    notes.write_text("two\n")
    os.utime(notes, (2**31, 2**31))
    await sessions.turn("third", sessions.session)
    assert json.dumps(sessions.bodies()[-1]).count("notes.txt has changed") == 1
    os.utime(notes, (1, 1))
    await sessions.turn("fourth", sessions.session)
    assert json.dumps(sessions.bodies()[-1]).count("notes.txt has changed") == 1


@pytest.mark.parametrize(("settings", "durable"), [(None, False), ('{"compositor": {"durableSessions": true}}', True)])
async def test_the_durable_setting_reaches_the_store(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, settings: str | None, durable: bool
) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor))[1])
    await sessions.turn("first", settings=settings)
    assert bool(synced) is durable
