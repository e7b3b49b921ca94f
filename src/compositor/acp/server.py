"""The agent's side of the Agent Client Protocol: what an editor can ask of this program.

Decides how a request of the editor becomes a session, and how an end of a turn is told. Sessions live in a task group of the caller and end
with the connection.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
from acp import PROTOCOL_VERSION, schema
from acp.exceptions import RequestError
from anyio.abc import TaskGroup
from msgspec import Struct

from compositor._version import __version__
from compositor.adapters.home import find_home
from compositor.adapters.sessions.index import list_sessions
from compositor.config.flags import Flags, parse_mode
from compositor.errors import CompositorError, ProviderError
from compositor.loop.effects import EndReason
from compositor.opened import Opening, open_session
from compositor.runtime.events import TurnResult
from compositor.types.editor import EditorFacts, Report, Selection
from compositor.types.usage import Usage

from .prompts import file_path, read_prompt
from .session import Connect, EditorSession, EditorSide

PAGE = 50
"""Sessions in one answer to `session/list`."""
LOOKING_AT = "compositor/looking_at"
"""The extension by which an editor tells what is open and selected (`_compositor/looking_at` on the wire)."""

_SEVERITIES = ("error", "warning", "information", "hint")
_STOPS: Mapping[EndReason, schema.StopReason] = {
    EndReason.COMPLETED: "end_turn",
    EndReason.HOOK_STOPPED: "end_turn",
    EndReason.MAX_TOKENS: "max_tokens",
    EndReason.MAX_TURNS: "max_turn_requests",
    EndReason.REFUSAL: "refusal",
    EndReason.ABORTED_STREAMING: "cancelled",
    EndReason.ABORTED_TOOLS: "cancelled",
}


class Serving(Struct, frozen=True, kw_only=True):
    """What sessions are opened with. `flags` are those of the command line; `terminals`: commands run in the editor's terminal where it has one."""

    environ: Mapping[str, str]
    flags: Flags
    connect: Connect
    terminals: bool = False


class EditorServer:
    """Serves one connection."""

    def __init__(self, serving: Serving, tasks: TaskGroup) -> None:
        self._serving = serving
        self._tasks = tasks
        self._sessions: dict[str, EditorSession] = {}
        self._has_terminals = False
        self._client: Any = None

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        self._has_terminals = bool(client_capabilities and client_capabilities.terminal)
        if client_info is not None:
            logging.getLogger(__name__).info("serving %s %s", client_info.name, client_info.version)
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="compositor", title="compositor", version=__version__),
            auth_methods=[],
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> schema.NewSessionResponse:
        session = await self._open(cwd, None, additional_directories, mcp_servers)
        return schema.NewSessionResponse(session_id=session.id, modes=session.modes())

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> schema.LoadSessionResponse:
        """Go on with a stored session, and tell its conversation first."""
        session = await self._open(cwd, session_id, additional_directories, mcp_servers)
        await session.replay()
        return schema.LoadSessionResponse(modes=session.modes())

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Go on with a stored session that the editor still shows."""
        session = await self._open(cwd, session_id, additional_directories, mcp_servers)
        return schema.ResumeSessionResponse(modes=session.modes())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        found = await anyio.to_thread.run_sync(lambda: list_sessions(find_home(self._serving.environ), cwd=cwd))
        begin = int(cursor) if cursor and cursor.isdecimal() else 0
        rows = [
            schema.SessionInfo(
                session_id=one.session_id, cwd=one.project, title=one.prompt, updated_at=one.updated or None
            )
            for one in found[begin : begin + PAGE]
        ]
        after = begin + PAGE
        return schema.ListSessionsResponse(sessions=rows, next_cursor=str(after) if after < len(found) else None)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        self._session(session_id).end()
        return schema.CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        try:
            mode = parse_mode(mode_id)
        except CompositorError as problem:
            raise _refusal(problem) from None
        await self._session(session_id).set_mode(mode)
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> schema.PromptResponse:
        session = self._session(session_id)
        try:
            result = await session.prompt(read_prompt(prompt))
        except CompositorError as problem:
            raise _refusal(problem) from None
        return _response(result)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            self._sessions[session_id].stop()

    async def ext_method(self, method: str, _params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """What the editor shows: an open file, the text that is selected in it, problems."""
        session = self._sessions.get(str(params.get("sessionId")))
        if method == LOOKING_AT and session is not None:
            session.look(looked_at(params))

    def end(self) -> None:
        """The connection ends, and with it every session: what is under way is stopped and stored."""
        for session in tuple(self._sessions.values()):
            session.end()

    async def _open(
        self,
        cwd: str,
        resume: str | None,
        directories: Sequence[str] | None,
        servers: Sequence[Any] | None,
    ) -> EditorSession:
        if resume is not None and resume in self._sessions:
            raise RequestError.invalid_params({"details": f"the session {resume!r} is open already"})
        if not Path(cwd).is_absolute():
            raise RequestError.invalid_params({"details": f"the directory {cwd!r} is not absolute"})
        try:
            flags = _with_editor(self._serving.flags, directories or (), servers or ())
            opening = Opening(flags=flags, project=cwd, environ=self._serving.environ, resume=resume, interactive=True)
            opened = await anyio.to_thread.run_sync(open_session, opening)
            terminals = self._serving.terminals and self._has_terminals
            session = EditorSession(opened, EditorSide(client=self._client, terminals=terminals))
            await self._start(session)
            # It runs once the answer that names the session has been put in line.
            self._tasks.start_soon(session.announce)
        except CompositorError as problem:
            raise _refusal(problem) from None
        return session

    async def _start(self, session: EditorSession) -> None:
        ready, problems = anyio.Event(), list[Exception]()

        async def keep() -> None:
            try:
                await session.run(self._serving.connect, ready.set)
            except Exception as problem:  # noqa: BLE001  (one session must not end the others)
                problems.append(problem)
                logging.getLogger(__name__).warning("the session %s ended: %s", session.id, problem)
            finally:
                self._sessions.pop(session.id, None)
                ready.set()

        self._sessions[session.id] = session
        self._tasks.start_soon(keep)
        await ready.wait()
        if problems:
            raise _innermost(problems[0])

    def _session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError.invalid_params({"details": f"there is no open session {session_id!r}"})
        return session


def looked_at(params: Mapping[str, Any]) -> EditorFacts:
    """What an editor says it shows; what has not the shape of docs/editors.md is left out."""
    path, _ = file_path(str(params.get("uri") or ""))
    return EditorFacts(
        open=path or "",
        selection=None if path is None else _selection(path, params.get("selection")),
        diagnostics=tuple(_reports(params.get("diagnostics"))),
    )


def _selection(path: str, given: object) -> Selection | None:
    if not isinstance(given, dict) or not str(given.get("text") or "").strip():
        return None
    first = given.get("first")
    last = given.get("last")
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        return None
    return Selection(path=path, first=first, last=last, text=str(given["text"]))


def _reports(given: object) -> Iterator[Report]:
    for one in given if isinstance(given, list) else ():
        path, _ = file_path(str(one.get("uri") or "")) if isinstance(one, dict) else (None, "")
        line = one.get("line") if path is not None else None
        if path is not None and type(line) is int and line >= 1 and one.get("message"):
            severity = one.get("severity") if one.get("severity") in _SEVERITIES else "error"
            yield Report(path, line, str(one["message"]), str(severity), str(one.get("source") or ""))


def _response(result: TurnResult) -> schema.PromptResponse:
    """How the turn ended. What no stop reason says is an error, so that the person sees it."""
    stop = _STOPS.get(result.reason)
    if stop is None:
        raise RequestError(-32603, result.detail or result.reason.value, {"reason": result.reason.value})
    return schema.PromptResponse(stop_reason=stop, usage=_usage(result.usage))


def _usage(usage: Usage) -> schema.Usage:
    return schema.Usage(
        total_tokens=usage.total_input + usage.output_tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_read_tokens=usage.read,
        cached_write_tokens=usage.written,
    )


def _with_editor(flags: Flags, directories: Sequence[str], servers: Sequence[Any]) -> Flags:
    """The flags of the command line, and what the editor adds to them."""
    config = {one.name: _server(one) for one in servers}
    added = (json.dumps({"mcpServers": config}),) if config else ()
    return msgspec.structs.replace(
        flags, add_dirs=(*flags.add_dirs, *directories), mcp_config=(*flags.mcp_config, *added)
    )


def _server(server: Any) -> dict[str, Any]:
    """An MCP server of the editor, as a file would configure it."""
    match server:
        case schema.McpServerStdio():
            env = {one.name: one.value for one in server.env}
            return {"command": server.command, "args": list(server.args), "env": env}
        case schema.HttpMcpServer() | schema.SseMcpServer():
            headers = {one.name: one.value for one in server.headers}
            return {"type": server.type, "url": server.url, "headers": headers}
        case _:
            raise RequestError.invalid_params(
                {"details": f"the MCP server {server.name!r} is of a type that is not served"}
            )


def _refusal(problem: CompositorError) -> RequestError:
    """A foreseen failure in the protocol's form; its sentence is the message, which editors show."""
    return RequestError(-32603 if isinstance(problem, ProviderError) else -32602, str(problem), {"code": problem.code})


def _innermost(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
