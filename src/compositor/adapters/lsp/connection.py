"""One language server over the session: started at the first question, asked, started again after a crash.

Performs process and requests. What is asked, and how the answer reads, is the business of the tool.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.abc

from compositor._version import __version__
from compositor.adapters.home import open_private, private_folder
from compositor.adapters.mcp.connection import describe
from compositor.adapters.tools.environment import child_environment
from compositor.adapters.tools.process import end_session
from compositor.errors import ToolServerError
from compositor.types.json import decode_json
from compositor.types.languages import LanguageServer

from .wire import MessageReader, encode_message

REQUEST_SECONDS: Final = 60.0
"""How long one question may take."""

_CHUNK: Final = 64 * 1024
_NO_SUCH_METHOD: Final = -32601

CAPABILITIES: Final[dict[str, Any]] = {
    "general": {"positionEncodings": ["utf-32", "utf-16"]},
    "workspace": {"workspaceFolders": True, "configuration": True, "symbol": {}},
    "textDocument": {
        "synchronization": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "callHierarchy": {},
    },
}


class LanguageConnection:
    """`keep` runs as a task for as long as the session; `ask` may be called from any task."""

    def __init__(self, server: LanguageServer, root: str, home: str, env: Mapping[str, str]) -> None:
        self.server = server
        self.capabilities: Mapping[str, Any] = {}
        self._root, self._home, self._env = root, home, env
        self._process: anyio.abc.Process | None = None
        self._problem = ""
        self._wanted, self._settled = anyio.Event(), anyio.Event()
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[anyio.Event, list[Any]]] = {}
        self._open: dict[str, tuple[int, str]] = {}
        self._writing = anyio.Lock()
        self._starting = anyio.Lock()

    @property
    def counts_utf16(self) -> bool:
        """Whether columns are counted in UTF-16 code units, which is the protocol's default."""
        return bool(self.capabilities.get("positionEncoding", "utf-16") == "utf-16")

    async def keep(self) -> None:
        """Run the server whenever it is wanted, until cancelled. Never raises for what it does."""
        while True:
            await self._wanted.wait()
            # Whoever wants it again while this run still ends waits for the next one.
            self._wanted, settled = anyio.Event(), self._settled
            try:
                await self._run(settled)
            except Exception as problem:  # noqa: BLE001 - whatever a server does costs this server only
                self._problem = self._problem or describe(problem)
            self._lose()
            settled.set()

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request. Raises `ToolServerError` for a server that is away, is too slow or refuses."""
        await self._connected()
        return await self._request(method, params, REQUEST_SECONDS)

    async def show(self, path: str, text: str) -> str:
        """Let the server see a file as it is now; gives its address."""
        await self._connected()
        uri = Path(path).as_uri()
        version, known = self._open.get(uri, (0, ""))
        if version and known == text:
            return uri
        self._open[uri] = (version + 1, text)
        if version:
            document: dict[str, Any] = {"uri": uri, "version": version + 1}
            await self._notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        else:
            language = self.server.languages[Path(path).suffix.lower()]
            document = {"uri": uri, "languageId": language, "version": 1, "text": text}
            await self._notify("textDocument/didOpen", {"textDocument": document})
        return uri

    async def _connected(self) -> None:
        async with self._starting:
            if self._process is None:
                self._problem, self._settled = "", anyio.Event()
                self._wanted.set()
                await self._settled.wait()
        if self._process is None:
            raise ToolServerError(f"The language server {self.server.name!r} is not available: {self._problem}")

    async def _run(self, settled: anyio.Event) -> None:
        private_folder(Path(self._home), "logs")
        log = open_private(log_path(self._home, self.server.name), os.O_WRONLY | os.O_TRUNC)
        try:
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    [self.server.command, *self.server.args],
                    cwd=self._root,
                    env={**child_environment(self._env), **self.server.env, "CLAUDE_PROJECT_DIR": self._root},
                    stderr=log,
                    start_new_session=True,
                )
        finally:
            os.close(log)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, tasks.cancel_scope)
                self._process = process
                try:
                    await self._initialize()
                    settled.set()
                except ToolServerError:
                    # The exit code of a server that ended says more.
                    if process.returncode is None:
                        raise
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(end_session, process.pid)
                await process.aclose()
        raise ToolServerError(f"it ended with the exit code {process.returncode}")

    async def _initialize(self) -> None:
        root = Path(self._root)
        folder = {"uri": root.as_uri(), "name": root.name}
        found = await self._request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "compositor", "version": __version__},
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": CAPABILITIES,
                "initializationOptions": decode_json(bytes(self.server.options)),
            },
            self.server.seconds,
        )
        capabilities = found.get("capabilities") if isinstance(found, dict) else None
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        await self._notify("initialized", {})

    async def _read(self, process: anyio.abc.Process, ends: anyio.CancelScope) -> None:
        """Take in what the server says until it falls silent for good."""
        reader = MessageReader()
        try:
            with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                while process.stdout is not None:
                    for message in reader.feed(await process.stdout.receive(_CHUNK)):
                        await self._take(message)
            await process.wait()
        except ToolServerError as fault:
            self._problem = str(fault)
            raise
        finally:
            self._lose()
        ends.cancel()

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            waiting = self._waiting.pop(message.get("id", 0), None)
            if waiting is not None:
                waiting[1].append(message)
                waiting[0].set()
        elif "id" in message:
            await self._send({"id": message["id"], **_reply(message, self._root)})

    async def _request(self, method: str, params: dict[str, Any], seconds: float) -> Any:
        number, answered, box = next(self._ids), anyio.Event(), list[Any]()
        self._waiting[number] = (answered, box)
        try:
            await self._send({"id": number, "method": method, "params": params})
            with anyio.move_on_after(seconds):
                await answered.wait()
        finally:
            if self._waiting.pop(number, None) is not None:
                with anyio.CancelScope(shield=True), contextlib.suppress(ToolServerError):
                    await self._notify("$/cancelRequest", {"id": number})
        name = f"The language server {self.server.name!r}"
        if not box:
            late = f"{name} did not answer within {seconds:g} s"
            lost = f"{name} was lost while it worked{f': {self._problem}' if self._problem else ''}"
            raise ToolServerError(lost if answered.is_set() else late)
        error = box[0].get("error")
        if error is not None:
            raise ToolServerError(
                f"{name} refused: {error.get('message', error) if isinstance(error, dict) else error}"
            )
        return box[0].get("result")

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send({"method": method, "params": params})

    async def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        try:
            if process is None or process.stdin is None:
                raise BrokenPipeError
            async with self._writing:
                await process.stdin.send(encode_message(message))
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as lost:
            raise ToolServerError(f"The language server {self.server.name!r} was lost") from lost

    def _lose(self) -> None:
        """Whoever waits for an answer does not get it any more; the next question starts the server anew."""
        self._process = None
        self._open = {}
        for answered, _ in self._waiting.values():
            answered.set()
        self._waiting = {}


def log_path(home: str, server: str) -> Path:
    """Where what a server says on its standard error is kept."""
    safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in server)[:64]
    return Path(home, "logs", f"lsp-{safe}.log")


def _reply(message: Mapping[str, Any], root: str) -> dict[str, Any]:
    """What a server that asks is told: it has no settings of its own here, and may register what it likes."""
    method, params = message["method"], message.get("params")
    if method == "workspace/configuration":
        items = params.get("items") if isinstance(params, dict) else None
        return {"result": [None for _ in (items if isinstance(items, list) else ())]}
    if method == "workspace/workspaceFolders":
        return {"result": [{"uri": Path(root).as_uri(), "name": Path(root).name}]}
    if method in {"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"}:
        return {"result": None}
    return {"error": {"code": _NO_SUCH_METHOD, "message": f"{method} is not offered"}}
