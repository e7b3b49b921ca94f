"""What tests of agents share: their files, what is asked for, and a stand-in of their own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.ports import ModelResponse, ModelTransport
from compositor.runtime.events import AgentWorked
from tests.runtime.long_run import ENDPOINT, SMALL, LongRun, messages_text


def agent_file(run: LongRun, name: str, head: str = "", prompt: str = "You are small.") -> None:
    folder = run.project / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: Does {name}\n{head}---\n{prompt}\n")


def prefer(run: LongRun, mode: str) -> None:
    """A mode that the person's own settings begin in."""
    write_settings(run, {"permissions": {"defaultMode": mode}})


def write_settings(run: LongRun, settings: dict[str, Any]) -> None:
    home = Path(run.environ["HOME"], ".claude")
    home.mkdir(parents=True)
    (home / "settings.json").write_text(json.dumps(settings))


def hand(kind: str, prompt: str = "Look at it.", **more: Any) -> str:
    fields = {"description": "a task", "prompt": prompt, "subagent_type": kind, **more}
    return json.dumps({"call": {"tool": "Agent", "input": fields}})


def system(body: dict[str, Any]) -> str:
    return "".join(block["text"] for block in body["system"])


def plain(body: Any) -> str:
    return messages_text(body).replace("\\n", "\n").replace('\\"', '"')


def transcripts(run: LongRun) -> list[Path]:
    return sorted(Path(run.environ["COMPOSITOR_HOME"]).glob("sessions/*/*/subagents/*.jsonl"))


def inside(run: LongRun, kind: type[Any]) -> list[Any]:
    """What happened in agents."""
    return [event.event for event in run.of(AgentWorked) if isinstance(event.event, kind)]


def stripped(messages: list[dict[str, Any]]) -> str:
    return messages_text({"messages": messages})


class Apart:
    """The requests of the agent go to a stand-in of their own, the first one only once the session has sent `after` requests."""

    def __init__(self, main: ModelTransport, script: str, after: int) -> None:
        self.main = main
        self.emulator = Emulator(parse_script(script), SMALL)
        self._inner = AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator))
        self._after = after
        self._sent = 0
        self._due = anyio.Event()

    @asynccontextmanager
    async def send(
        self, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AsyncIterator[ModelResponse]:
        whole = b"".join(body)
        if b"You are small." in whole.partition(b'"messages"')[0]:
            await self._due.wait()
            async with self._inner.send(headers, (whole,), size) as answer:
                yield answer
            return
        self._sent += 1
        if self._sent == self._after:
            self._due.set()
        async with self.main.send(headers, (whole,), size) as answer:
            yield answer


BESIDE = "turns:\n  - {say: The late report.}\n"


def repository(folder: Path) -> None:
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "one"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def kept_worktrees(folder: Path) -> list[Path]:
    return sorted((folder / ".claude" / "worktrees").iterdir())
