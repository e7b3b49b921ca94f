"""An editor as a test plays it: the official client of the Agent Client Protocol, with a person who answers as told."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import schema, spawn_agent_process

from tests.cli.program import environment


class Editor:
    """Keeps what it is shown. `answers` are the options that the person chooses, in order; none left means: closes the question."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.updates: list[Any] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.came = asyncio.Event()
        self.terminals: dict[str, asyncio.subprocess.Process] = {}
        self.outputs: dict[str, bytes] = {}

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.came.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        if not self.answers:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self.answers.pop(0))
        return schema.RequestPermissionResponse(outcome=chosen)

    async def create_terminal(
        self, session_id: str, command: str, args: Any = None, env: Any = None, cwd: Any = None, **_: Any
    ) -> schema.CreateTerminalResponse:
        variables = {**os.environ, **{one.name: one.value for one in env or ()}}
        process = await asyncio.create_subprocess_exec(
            command, *(args or ()), cwd=cwd, env=variables,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        name = f"terminal-{len(self.terminals)}"
        self.terminals[name] = process
        return schema.CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        process = self.terminals[terminal_id]
        self.outputs[terminal_id], _ = await process.communicate()
        return schema.WaitForTerminalExitResponse(exit_code=process.returncode)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        text = self.outputs.get(terminal_id, b"").decode()
        return schema.TerminalOutputResponse(output=text, truncated=False)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.terminals[terminal_id].kill()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.outputs.setdefault("released", b"")

    async def until(self, kind: str) -> Any:
        """The first update of a kind, once it is there."""
        while True:
            for update in self.updates:
                if update.session_update == kind:
                    return update
            self.came.clear()
            await asyncio.wait_for(self.came.wait(), 20)

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.updates if update.session_update == kind)

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]


@asynccontextmanager
async def connected(
    editor: Editor, folder: Path, *words: str, **variables: str
) -> AsyncIterator[tuple[Any, asyncio.subprocess.Process]]:
    """The program as an editor starts it; every connection is initialized."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    async with spawn_agent_process(
        editor, sys.executable, "-m", "compositor", "acp", *words, env=environment(home, **variables), cwd=folder
    ) as (agent, process):
        can = schema.ClientCapabilities(terminal=True)
        await agent.initialize(protocol_version=1, client_capabilities=can)
        yield agent, process


def words_of(body: bytes) -> str:
    """All that a request tells the model in its last message."""
    return json.dumps(json.loads(body)["messages"][-1], ensure_ascii=False)
