"""The product as a client: the whole agent in the sessions, the fold with one request in the long histories.

Decides the surroundings: a project folder with version control, a state folder of its own, sockets as for everybody else.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from compositor import Flags, Opening, Snapshot, __version__, build_agent, compile_request, open_session
from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.credentials import resolve_endpoint
from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext
from compositor.ports import Permission
from compositor.runtime.events import AgentEvent, CallJudged
from compositor.types.blocks import parse_content
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.request import HeadParts, HeadTool, RequestOptions
from compositor.types.snapshot import Facts
from compositor.types.tools import ToolDefinition

from .clients import KEY, MAX_TOKENS, MODEL, READ, mark
from .scenes import PROMPT

_TIME = "2026-11-30T12:00:00.000Z"
_WIRE = WireContext(prefill=False, system_role=False, max_output=64_000)


class Compositor:
    """The agent with its own prompt, tools, gate and journal."""

    version = f"compositor {__version__}"

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        del system
        if history:
            raise ValueError("a long history goes through `Fold`")
        self._project = Path.cwd()
        # The files of the scene stand there already; a session sees the state of version control.
        for arguments in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "s"],
        ):
            subprocess.run(["git", *arguments], check=True, stdout=subprocess.DEVNULL)
        home = self._project.parent
        self._environ = {
            "HOME": str(home),
            "COMPOSITOR_HOME": str(home / "state"),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
        }
        self._session: str | None = None

    def go_on(self, system: str) -> None:
        del system
        for number in range(3):
            (self._project / f"changed_{number}.py").write_text("changed = True\n")

    def submit(self, turns: int) -> None:
        del turns
        asyncio.run(self._submit())

    async def _submit(self) -> None:
        opening = Opening(
            flags=Flags(model=MODEL), project=str(self._project), environ=self._environ, resume=self._session
        )
        opened = open_session(opening)
        self._session = opened.header.session_id
        async with AnthropicTransport(resolve_endpoint(self._environ)) as transport:
            agent, store = build_agent(opened, transport=transport, watch=_watch, asker=_Nobody())
            with store:
                await agent.submit(PROMPT)


class Fold:
    """One request behind a long history: compiled from nothing, and sent."""

    version = f"compositor {__version__}"

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        self._client = httpx2.Client()
        self._url = f"{url}/v1/messages"
        self._entries = tuple(_entry(number, message) for number, message in enumerate(history))
        origin = Attribution(Source("section", "peers"), Lane.SYSTEM, Lifetime.RELEASE, "as for every client")
        definition = ToolDefinition(
            name=READ["name"], description=READ["description"], input_schema=raw_json(READ["input_schema"])
        )
        self._head = compile_head(
            HeadParts(tools=(HeadTool(definition, origin),), system=((Fragment(system, origin),),))
        )

    def submit(self, turns: int) -> None:
        del turns
        question = _entry(len(self._entries), {"role": "user", "content": PROMPT})
        options = RequestOptions(model=MODEL, max_tokens=MAX_TOKENS, stream=False)
        snapshot = Snapshot(
            head=self._head, facts=Facts(model=MODEL), entries=(*self._entries, question), options=options
        )
        compiled = compile_request(snapshot, _WIRE)
        headers = {**dict(compiled.headers), "x-api-key": KEY}
        msgspec.json.decode(self._client.post(self._url, content=compiled.body, headers=headers).content)


def _entry(number: int, message: dict[str, Any]) -> TranscriptEntry:
    content = parse_content(raw_json(message["content"])).blocks
    if message["role"] == "user":
        return UserEntry(uuid=f"e{number}", parent=None, time=_TIME, content=content)
    reason = "tool_use" if len(content) > 1 else "end_turn"
    return AssistantEntry(
        uuid=f"e{number}",
        parent=None,
        time=_TIME,
        message_id=f"m{number}",
        model=MODEL,
        content=content,
        stop_reason=reason,
    )


def _watch(event: AgentEvent) -> None:
    if isinstance(event, CallJudged):
        mark(str(msgspec.json.decode(event.call.input).get("file_path", "")))


class _Nobody:
    async def ask(self, permission: Permission) -> bool:
        del permission
        return False
