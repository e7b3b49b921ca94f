"""A whole session with real tools, hooks and sandbox; the stand-in model says what a script says, whatever it is told."""

import json
from pathlib import Path
from typing import Any

import msgspec

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import Endpoint
from compositor.config.flags import Flags
from compositor.emulator.core import Emulator
from compositor.emulator.script import parse_script
from compositor.emulator.transport import EmulatorTransport
from compositor.opened import Opening, open_session
from compositor.ports import Editor, Permission
from compositor.runtime.events import AgentEvent, CallJudged, NotesCollected, TurnResult
from compositor.wiring import build_agent, session_services

ENDPOINT = Endpoint(url="http://emulator.invalid/v1/messages")


class Says:
    """A person who always gives the same answer, and keeps what was asked."""

    def __init__(self, answer: bool) -> None:  # the answer is the whole point
        self.answer = answer
        self.asked: list[Permission] = []

    async def ask(self, permission: Permission) -> bool:
        self.asked.append(permission)
        return self.answer


class Session:
    """One project with a home of its own; `settings` are those of the user."""

    def __init__(self, root: Path, settings: dict[str, Any] | None = None, **flags: Any) -> None:
        self.root = root
        self.project = root / "project"
        self.home = root / "home"
        self.state = root / "state"
        for folder in (self.project, self.home / ".claude"):
            folder.mkdir(parents=True, exist_ok=True)
        if settings is not None:
            (self.home / ".claude" / "settings.json").write_text(json.dumps(settings))
        self.flags = Flags(**flags)
        self.events: list[AgentEvent] = []
        self.editor: Editor | None = None
        self.resume: str | None = None
        self.session_id = ""
        self.environ = {"HOME": str(self.home), "COMPOSITOR_HOME": str(self.state), "PATH": "/usr/bin:/bin"}

    async def run(self, turns: list[dict[str, Any]], person: Says | None = None, *prompts: str) -> TurnResult:
        """Take the prompts (one, when none is given) through a session; gives the last turn."""
        self.emulator = Emulator(parse_script(json.dumps({"turns": turns})))
        opening = Opening(
            flags=self.flags,
            project=str(self.project),
            environ=self.environ,
            interactive=person is not None,
            resume=self.resume,
        )
        opened = open_session(opening)
        self.session_id = opened.header.session_id
        result: TurnResult | None = None
        async with (
            AnthropicTransport(ENDPOINT, transport=EmulatorTransport(self.emulator)) as transport,
            session_services(opened) as services,
        ):
            agent, store = build_agent(
                opened,
                transport=transport,
                watch=self.events.append,
                asker=person or Says(answer=False),
                services=services,
                editor=self.editor,
            )
            with store:
                for prompt in prompts or ("go",):
                    result = await agent.submit(prompt)
                await agent.end()
        assert result is not None
        return result

    @property
    def sent(self) -> str:
        """Everything that went to the model, as one text."""
        return "\n".join(recorded.request.body.decode() for recorded in self.emulator.requests)

    @property
    def verdicts(self) -> list[CallJudged]:
        return [event for event in self.events if isinstance(event, CallJudged)]

    @property
    def remarks(self) -> list[str]:
        found = [event.diagnostics for event in self.events if isinstance(event, NotesCollected)]
        return [note.message for notes in found for note in notes]

    def log(self) -> list[dict[str, Any]]:
        lines = (self.state / "logs" / "audit.jsonl").read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines]
