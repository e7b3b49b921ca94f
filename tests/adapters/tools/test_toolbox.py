"""The tool box: names, sharing, and which search program is trusted."""

import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any

import pytest

from compositor.adapters.tools.search import find_ripgrep
from compositor.adapters.tools.toolbox import ToolBox
from compositor.context.tools.catalog import BUILTIN_TOOLS


def test_the_box_holds_every_builtin_under_its_name() -> None:
    box = ToolBox()
    assert tuple(box[name].definition for name in box) == BUILTIN_TOOLS
    assert len(box) == 6
    assert "Read" in box
    assert box.get("Nonsense") is None


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
