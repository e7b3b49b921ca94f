"""The difference of two texts, by the way that fits their size.

Decides the way: our own comparison for ordinary files, git's histogram for long ones with changes far apart, where git is there. Both give
hunks with three lines around.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from compositor.context.freshness.changed import Difference
from compositor.context.tools.patch import MAX_COMPARED, Hunk, make_patch

_GIT_SECONDS = 0.6
_GIT = ("git", "diff", "--no-index", "--histogram", "--no-color", "--no-ext-diff", "--no-textconv", "-U3", "--")


def differ(before: str, after: str) -> Difference:
    """Hunks as a unified diff without the file names."""
    hunks = make_patch(before, after)
    if any(len(hunk.lines) > MAX_COMPARED for hunk in hunks):
        found = _by_git(before, after)
        if found is not None:
            return found
    return _counted("\n".join(line for hunk in hunks for line in (_heading(hunk), *hunk.lines)))


def _heading(hunk: Hunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"


def _by_git(before: str, after: str) -> Difference | None:
    """As git compares them; `None` without git, or when it takes too long."""
    with tempfile.TemporaryDirectory(prefix="compositor-diff-") as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        old.write_text(before, encoding="utf-8", errors="surrogateescape", newline="")
        new.write_text(after, encoding="utf-8", errors="surrogateescape", newline="")
        env = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        try:
            done = subprocess.run(  # noqa: S603  fixed words, no shell
                [*_GIT, str(old), str(new)], capture_output=True, cwd=folder, env=env, timeout=_GIT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    text = done.stdout.decode("utf-8", "replace")
    start = text.find("@@ ")
    return _counted(text[start:].rstrip("\n")) if done.returncode == 1 and start >= 0 else None


def _counted(text: str) -> Difference:
    lines = text.split("\n")
    return Difference(text, sum(line.startswith("-") for line in lines), sum(line.startswith("+") for line in lines))
