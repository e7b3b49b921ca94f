"""The tool box: names, sharing, and which search program is trusted."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.lsp.servers import LanguageServers
from compositor.adapters.mcp.servers import McpServers
from compositor.adapters.mcp.transports import ServerSurroundings
from compositor.adapters.services import Services
from compositor.adapters.tools.background import Background
from compositor.adapters.tools.search import find_ripgrep
from compositor.adapters.tools.session_tools import session_tools
from compositor.adapters.tools.toolbox import ToolBox
from compositor.config.candidates import BUILTIN_TOOLS as BUILTIN_CANDIDATES
from compositor.context.tools.catalog import BUILTIN, BUILTIN_TOOLS
from compositor.types.verdicts import PermissionMode
from compositor.types.web import WebFound, WebQuery


class NoWeb:
    async def search(self, wanted: WebQuery) -> WebFound:
        return WebFound(problem=f"nobody searches for {wanted.query!r}")


@pytest.mark.req("R236", "R238")
def test_a_session_has_every_builtin_under_its_name_and_no_server_can_take_one(tmp_path: Path) -> None:
    read = ToolBox()["Read"]
    servers = McpServers((), ServerSurroundings(roots=("/",), home="/", env={}))
    services = Services(servers, Background(), lambda _start: None, LanguageServers((), "/", "/", {}))
    tools = session_tools(
        home=tmp_path,
        session_id="s",
        mode=PermissionMode.DEFAULT,
        variables={},
        is_visible=lambda _path: True,
        deferred=tuple,
        services=services,
        interviewer=None,
        searcher=NoWeb(),
    )
    box = tools.box
    # Agent and Skill need the gate, which is made of the other tools.
    others = [tool.name for tool in BUILTIN_TOOLS if tool.name not in {"Agent", "Skill"}]
    assert {box[name].definition.name: name for name in box} == {name: name for name in others}
    assert [tool.name for tool in BUILTIN_CANDIDATES] == [tool.name for tool in BUILTIN_TOOLS]
    assert (len(box), len(BUILTIN_TOOLS)) == (28, 30)
    assert box.get("Nonsense") is None
    other = ToolBox(more={"Read": box["Bash"], "mcp__a__b": read})
    assert other["Read"].definition == BUILTIN["Read"]
    assert other["mcp__a__b"] is read
    assert len(other) == len(list(other)) == len(ToolBox()) + 1


def test_boxes_share_nothing() -> None:
    assert ToolBox().files is not ToolBox().files


@pytest.mark.parametrize("path", ["/nonexistent", "", ".", "relative/bin"])
def test_ripgrep_is_found_beside_the_interpreter_when_the_path_has_none(session: Any, path: str) -> None:
    session.scope.env["PATH"] = path
    assert find_ripgrep(session.scope) == shutil.which("rg", path=sysconfig.get_path("scripts"))


def test_a_program_that_the_project_brings_along_is_not_run(session: Any) -> None:
    program = session.put("bin/rg", "#!/bin/sh\ntouch taken-over\n")
    program.chmod(0o755)
    session.scope.env["PATH"] = f"{program.parent}{os.pathsep}{session.scope.env['PATH']}"
    session.text("Grep", pattern="x")
    assert not (session.root / "taken-over").exists()
    assert find_ripgrep(session.scope) != str(program)


def test_making_a_box_loads_no_decoder() -> None:
    code = (
        "import sys; from compositor.adapters.tools.toolbox import ToolBox; ToolBox(); "
        "print([m for m in ('PIL', 'pypdf', 'wcmatch', 'pathspec', 'jsonschema_rs') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
