"""A real language server (jedi) on a real project: definitions, uses, symbols, hover, and nothing left running."""

import contextlib
import os
import sys
from pathlib import Path

import anyio
import pytest

from compositor.adapters.lsp.servers import LanguageServers
from compositor.adapters.tools.lsp import LspTool
from compositor.ports import ToolScope
from compositor.types.json import raw_json
from compositor.types.languages import LanguageServer
from compositor.types.tools import ToolCall

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

SHAPES = '''"""Shapes."""


class Square:
    """Four equal sides."""

    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        """Side by side."""
        return self.side * self.side
'''
MAIN = """from shapes import Square

print(Square(2).area())
"""


def running(name: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if parent == os.getpid() and name.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


async def test_a_real_server_knows_definitions_uses_and_symbols(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "main.py").write_text(MAIN)
    command = str(Path(sys.prefix, "bin", "jedi-language-server"))
    server = LanguageServer(name="jedi", command=command, languages={".py": "python"}, seconds=60)
    servers = LanguageServers((server,), str(tmp_path), str(tmp_path / "home"), dict(os.environ))
    tool = LspTool(servers)
    scope = ToolScope(cwd=str(tmp_path), roots=(str(tmp_path),), output_dir=str(tmp_path), env={})

    async def ask(operation: str, file: str, line: int = 1, character: int = 1, query: str = "") -> str:
        fields = {
            "operation": operation,
            "filePath": str(tmp_path / file),
            "line": line,
            "character": character,
            "query": query,
        }
        outcome = await tool.run(ToolCall(id="t", name="LSP", input=raw_json(fields)), scope)
        assert isinstance(outcome.content, str)
        return outcome.content

    with anyio.fail_after(120):
        async with servers.running():
            assert running("jedi-language-server") == []
            assert await ask("goToDefinition", "main.py", 3, 17) == "shapes.py:10:9: def area(self) -> float:"
            uses = (await ask("findReferences", "shapes.py", 4, 7)).splitlines()
            assert [line.partition(": ")[0] for line in uses] == ["main.py:1:20", "main.py:3:7", "shapes.py:4:7"]
            assert "Side by side." in await ask("hover", "main.py", 3, 17)
            symbols = await ask("documentSymbol", "shapes.py")
            assert symbols.splitlines()[0] == "class Square (lines 4-12)"
            assert "  method area (lines 10-12)" in symbols
            assert "shapes.py:4:7: class Square" in await ask("workspaceSymbol", "main.py", query="Square")
            assert len(running("jedi-language-server")) == 1
        assert running("jedi-language-server") == []
