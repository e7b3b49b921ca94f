"""The LSP tool against a small language server in a child process: places, changes, and a server that misbehaves."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from compositor.adapters.lsp import connection
from compositor.adapters.lsp.servers import LanguageServers
from compositor.adapters.lsp.wire import MAX_MESSAGE, MessageReader, encode_message
from compositor.adapters.tools.lsp import LspTool
from compositor.adapters.tools.lsp_places import MAX_LINES, Places, column_in, path_of
from compositor.config.language_servers import choose_language_servers
from compositor.errors import ToolServerError
from compositor.ports import ToolScope
from compositor.types.json import raw_json
from compositor.types.languages import LanguageServer
from compositor.types.tools import OutcomeKind, ToolCall

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("server.py")


class Desk:
    """One session with the small server, in `root`."""

    def __init__(self, root: Path, *args: str, seconds: float = 30.0) -> None:
        self.root = root
        self.scope = ToolScope(cwd=str(root), roots=(str(root),), output_dir=str(root), env={})
        server = LanguageServer(
            name="small", command=sys.executable, args=args or (str(SERVER),), languages={".t": "t"}, seconds=seconds
        )
        self.servers = LanguageServers((server,), str(root), str(root / "home"), dict(os.environ))
        self.hidden: set[str] = set()
        self.tool = LspTool(self.servers, lambda path: path not in self.hidden)

    async def ask(self, operation: str, file: str, **more: Any):
        fields = {"operation": operation, "filePath": str(self.root / file), **more}
        return await self.tool.run(ToolCall(id="t", name="LSP", input=raw_json(fields)), self.scope)

    def put(self, name: str, text: str) -> Path:
        path = self.root / name
        path.write_text(text, "utf-8")
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.req("R236")
async def test_places_are_shown_with_their_lines_and_a_change_is_seen(desk: Desk) -> None:
    desk.put("a.t", "one\n  twice(é)\n")
    async with desk.servers.running():
        found = await desk.ask("findReferences", "a.t", line=2, character=3)
        assert found.content == "a.t:2:3: twice(é)"
        assert desk.tool.paths(
            ToolCall(id="t", name="LSP", input=raw_json({"operation": "hover", "filePath": "a.t"})), desk.scope
        ) == (str(desk.root / "a.t"),)
        desk.put("a.t", "twice\n")
        assert (await desk.ask("findReferences", "a.t", line=1, character=1)).content == "a.t:1:1: twice"
        assert (await desk.ask("hover", "a.t", line=1, character=3)).content == "ice"


async def test_places_in_files_that_may_not_be_read_are_counted_and_not_shown(desk: Desk) -> None:
    desk.hidden.add(str(desk.put("secret.t", "twice\n")))
    desk.put("a.t", "twice\n")
    async with desk.servers.running():
        await desk.ask("hover", "secret.t")
        text = (await desk.ask("findReferences", "a.t")).content
    assert text == "a.t:1:1: twice\n[1 in files that may not be read are left out.]"


async def test_a_server_that_is_lost_costs_one_call_and_comes_back(desk: Desk) -> None:
    for word in ("crash", "garbage"):
        desk.put("a.t", f"{word}\n")
        async with desk.servers.running():
            lost = await desk.ask("hover", "a.t")
            assert lost.kind is OutcomeKind.FAILED
            assert "'small' was lost" in lost.content
            desk.put("a.t", "twice\n")
            assert (await desk.ask("findReferences", "a.t")).content == "a.t:1:1: twice"


async def test_a_server_that_asks_back_is_answered(desk: Desk) -> None:
    desk.put("a.t", "asks\n")
    async with desk.servers.running():
        assert (await desk.ask("hover", "a.t")).content == "[null, null]"


async def test_a_slow_answer_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    desk.put("a.t", "slow\n")
    async with desk.servers.running():
        assert "did not answer within 0.3 s" in (await desk.ask("hover", "a.t")).content


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("-c", "import time; time.sleep(60)"), "did not answer within 0.5 s"),
        (("-c", "raise SystemExit(3)"), "exit code 3"),
        (("-c", "print('hello' * 9999, flush=True); input()"), "headers do not end"),
    ],
)
async def test_a_server_that_does_not_start_is_told_with_the_reason(tmp_path: Path, args: Any, reason: str) -> None:
    desk = Desk(tmp_path, *args, seconds=0.5 if "sleep" in args[1] else 30.0)
    desk.put("a.t", "twice\n")
    async with desk.servers.running():
        with anyio.fail_after(30):
            outcome = await desk.ask("hover", "a.t")
    assert outcome.kind is OutcomeKind.FAILED
    assert "'small' is not available" in outcome.content
    assert reason in outcome.content


async def test_what_cannot_be_asked_is_told_before_anything_starts(desk: Desk) -> None:
    desk.put("a.x", "twice\n")
    desk.put("a.t", "twice\n")
    (desk.root / "b.t").write_bytes(b"\0\1")
    assert "There are some for .t" in (await desk.ask("hover", "a.x")).content
    assert "is no text" in (await desk.ask("hover", "b.t")).content
    assert "is no file" in (await desk.ask("hover", "none.t")).content
    async with desk.servers.running():
        assert "cannot do incomingCalls" in (await desk.ask("incomingCalls", "a.t")).content


def test_messages_come_whole_however_they_are_cut() -> None:
    data = encode_message({"id": 1, "result": "é"}) + encode_message({"method": "x"})
    reader = MessageReader()
    found = [message for byte in data for message in reader.feed(bytes([byte]))]
    assert found == [{"jsonrpc": "2.0", "id": 1, "result": "é"}, {"jsonrpc": "2.0", "method": "x"}]
    for bad in (b"X: 1\r\n\r\n", b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE + 1), b"Content-Length: 2\r\n\r\n[]"):
        with pytest.raises(ToolServerError):
            MessageReader().feed(bad)


def test_columns_are_counted_as_the_server_counts_them() -> None:
    assert column_in("a😀b", 1, 3, utf16=True) == 3
    assert column_in("a😀b", 1, 3, utf16=False) == 2
    assert column_in("a", 9, 3, utf16=True) == 0
    assert path_of("file:///a%20b/c.py") == "/a b/c.py"
    assert path_of("untitled:x") is None


def test_symbols_calls_and_long_lists_are_lines() -> None:
    places = Places(lambda _path: True, lambda path: path, utf16=True)
    range_ = {"start": {"line": 2, "character": 0}, "end": {"line": 8, "character": 0}}
    child = {"name": "m\x1b", "kind": 6, "range": range_, "selectionRange": range_}
    tree = [{"name": "C", "kind": 5, "range": range_, "selectionRange": range_, "children": [child, 7]}]
    assert places.shown("documentSymbol", tree, "file:///a") == ["class C (lines 3-9)", "  method m\\x1b (lines 3-9)"]
    flat = [{"name": "f", "kind": 12, "containerName": "C", "location": {"uri": "file:///no/such", "range": range_}}]
    assert places.shown("workspaceSymbol", flat, "") == ["/no/such:3:1: function f in C"]
    call = [{"from": {"name": "g", "kind": 99, "uri": "file:///no/such", "selectionRange": range_}}]
    assert places.shown("incomingCalls", call, "") == ["/no/such:3:1: symbol g"]
    many = [{"uri": "file:///no/such", "range": range_}] * (MAX_LINES + 3)
    assert places.shown("findReferences", many, "")[-1] == "[3 more are left out.]"
    assert places.shown("hover", {"contents": [{"language": "t", "value": "x"}, "y"]}, "") == ["x\ny"]
    assert places.shown("hover", None, "") == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "no 'command'"),
        ({"command": "x"}, "extensionToLanguage"),
        ({"command": "x", "extensionToLanguage": {"py": "python"}}, "extensionToLanguage"),
        ({"command": "x", "extensionToLanguage": {".py": "python"}, "args": "y"}, "'args'"),
        ({"command": "x", "extensionToLanguage": {".py": "python"}, "env": {"A": 1}}, "'env'"),
        ({"command": "x", "extensionToLanguage": {".py": "python"}, "startupTimeout": 0}, "'startupTimeout'"),
    ],
)
def test_an_entry_that_is_none_costs_only_itself(entry: dict[str, Any], reason: str) -> None:
    good = {"command": "y", "extensionToLanguage": {".PY": "python"}, "startupTimeout": 500}
    servers, notes = choose_language_servers({"bad": entry, "good": good})
    assert [(server.name, server.languages, server.seconds) for server in servers] == [("good", {".py": "python"}, 0.5)]
    assert reason in notes[0].message
