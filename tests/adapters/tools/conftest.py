"""One session's tools over a real folder."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from compositor.adapters.tools.toolbox import ToolBox
from compositor.ports import ToolScope
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome


class Session:
    """A tool box at work in `root`."""

    def __init__(self, root: Path, output: Path, box: ToolBox | None = None) -> None:
        self.root = root
        self.output = output
        self.box = box or ToolBox()
        self.scope = ToolScope(cwd=str(root), roots=(str(root),), output_dir=str(output), env=dict(os.environ))
        self.outcome: ToolOutcome | None = None

    def call(self, name: str, **fields: Any) -> ToolCall:
        return ToolCall(id="toolu_1", name=name, input=raw_json(fields))

    def use(self, name: str, **fields: Any) -> ToolOutcome:
        """Run a call to its end."""
        self.outcome = anyio.run(self.box[name].run, self.call(name, **fields), self.scope)
        assert self.outcome.call_id == "toolu_1"
        assert self.outcome.display
        assert "\n" not in self.outcome.display
        return self.outcome

    def text(self, name: str, **fields: Any) -> str:
        """What the model reads of a call that is done."""
        outcome = self.use(name, **fields)
        assert outcome.kind is OutcomeKind.DONE, outcome.content
        assert isinstance(outcome.content, str)
        return outcome.content

    def refusal(self, name: str, **fields: Any) -> str:
        """What the model reads of a call that failed."""
        outcome = self.use(name, **fields)
        assert outcome.kind is OutcomeKind.FAILED, outcome.content
        assert outcome.is_error
        assert isinstance(outcome.content, str)
        return outcome.content

    @property
    def structured(self) -> dict[str, Any]:
        """The structured result of the last call."""
        assert self.outcome is not None
        assert self.outcome.structured is not None
        return msgspec.json.decode(bytes(self.outcome.structured))

    def paths(self, name: str, **fields: Any) -> tuple[str, ...]:
        return self.box[name].paths(self.call(name, **fields), self.scope)

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = tmp_path / "project"
    root.mkdir()
    return Session(root, tmp_path / "output")


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder that this process may not write to, whoever runs the tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        locked = folder / "locked"
        locked.mkdir()
        (locked / "a.txt").write_text("old\n")
        user = os.geteuid()
        if user == 0:
            (locked / "a.txt").chmod(0o666)
            os.seteuid(65534)
        else:
            locked.chmod(0o555)
        try:
            yield locked
        finally:
            os.seteuid(user)
            locked.chmod(0o755)


@pytest.fixture(params=["ripgrep", "fallback"])
def searching(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    """A session whose searches are done by ripgrep, and one without it: both must find the same."""
    root = tmp_path / "project"
    root.mkdir()
    box = ToolBox() if request.param == "ripgrep" else ToolBox(find_program=lambda _scope: None)
    return Session(root, tmp_path / "output", box)
