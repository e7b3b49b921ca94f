"""A fixed part that leaves no room is refused, with the size of each region (R385)."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.config.flags import Flags
from compositor.errors import ContextOverflowError
from compositor.opened import Opening, open_session


def opening(folder: Path, rules: str, window: int) -> Opening:
    folder.mkdir(exist_ok=True)
    (folder / "CLAUDE.md").write_text(rules)
    environ = {
        "HOME": str(folder.parent / "home"),
        "COMPOSITOR_HOME": str(folder.parent / "state"),
        "PATH": "/usr/bin:/bin",
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(window),
    }
    return Opening(flags=Flags(), project=str(folder), environ=environ)


@pytest.mark.req("R385")
def test_what_cannot_fit_is_refused_with_the_size_of_each_region(tmp_path: Path) -> None:
    with pytest.raises(ContextOverflowError) as refused:
        open_session(opening(tmp_path / "p", "Keep to this rule.\n" * 1_500, 14_000))
    message = str(refused.value)
    assert "does not fit the window of 14,000 tokens" in message
    for region in ("tools", "system prompt", "instruction files and notes"):
        assert region in message


@pytest.mark.req("R385")
def test_what_fits_is_not_refused(tmp_path: Path) -> None:
    opened = open_session(opening(tmp_path / "p", "Keep to this rule.\n" * 1_500, 200_000))
    assert opened.contract.window.tokens == 200_000
