"""A part of the enforcement line breaks in a running session: the call is refused and the reason says what broke (R371)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compositor import guarding
from compositor.adapters.audit_log import AuditLog
from compositor.adapters.hooks.runner import ChildHookRunner
from compositor.adapters.tools.bash import BashTool
from compositor.types.verdicts import Deny
from tests.edges.guarded import Says, Session
from tests.edges.test_hooks import ALLOW, TOUCH, hooks

pytestmark = [pytest.mark.edges, pytest.mark.anyio]


def broken(*_args: Any, **_more: Any) -> Any:
    raise OSError(5, "broken on purpose")


async def broken_later(*_args: Any, **_more: Any) -> Any:
    raise OSError(5, "broken on purpose")


PARTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the real places of paths": lambda patch: patch.setattr(guarding, "real_path", lambda path: broken() if path.endswith("made") else path),
    "the paths of the tool": lambda patch: patch.setattr(BashTool, "paths", broken),
    "the runner of hooks": lambda patch: patch.setattr(ChildHookRunner, "run", broken_later),
    "the log of verdicts": lambda patch: patch.setattr(AuditLog, "verdict", broken),
}  # fmt: skip


@pytest.mark.req("R371", "R363")
@pytest.mark.parametrize("person", [None, Says(answer=True)], ids=["headless", "interactive"])
@pytest.mark.parametrize("part", PARTS)
async def test_a_broken_part_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, person: Says | None
) -> None:
    session = Session(tmp_path, {**ALLOW, **hooks("PreToolUse", {"command": "true"})})
    PARTS[part](monkeypatch)
    await session.run(TOUCH, person)
    assert not (session.project / "made").exists()
    assert isinstance(session.verdicts[0].verdict, Deny)
    assert "broken on purpose" in session.verdicts[0].verdict.reason


@pytest.mark.req("R371")
async def test_a_person_who_cannot_be_asked_has_not_said_yes(tmp_path: Path) -> None:
    class Gone(Says):
        async def ask(self, permission: Any) -> bool:
            raise ConnectionError("the terminal is gone")

    session = Session(tmp_path, {})
    await session.run(TOUCH, Gone(answer=True))
    assert not (session.project / "made").exists()
    assert "the terminal is gone" in session.verdicts[0].verdict.reason
