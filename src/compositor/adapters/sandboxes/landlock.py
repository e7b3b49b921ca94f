"""Landlock: borders for shell commands where the kernel forbids namespaces. Weaker than bubblewrap, and the page says how.

Performs the probe and writes down, for each command, what stays readable and writable. Decides no border: that is `policy/sandbox.py`.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from compositor.adapters.home import write_private
from compositor.policy.sandbox import SandboxPlan

from . import restrict
from .hidden import hidden_files

LEAST = 3
"""The first version that confines the cutting of files too."""
_PROGRAM = restrict.__file__
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/urandom")


def probe_landlock() -> int:
    """The version of this machine, 0 where there is none that is new enough."""
    found = restrict.version() if sys.platform == "linux" else 0
    return found if found >= LEAST else 0


class LandlockSandbox:
    """Confines the commands of one session. `temporary` is its private folder for `TMPDIR` and for the plans.

    `outputs` is the folder into which the shell notes its directory; `is_hidden` says which existing files a wildcard rule covers.
    """

    def __init__(
        self, plan: SandboxPlan, *, temporary: str, outputs: str, is_hidden: Callable[[str], bool] | None = None
    ) -> None:
        self._plan = plan
        self._temporary = temporary
        self._outputs = outputs
        self._is_hidden = is_hidden
        self._numbers = itertools.count()

    def confine(self, words: tuple[str, ...], cwd: str) -> tuple[str, ...]:  # noqa: ARG002  # the command starts in `cwd` anyway
        """The command line that gives up its rights and then runs `words`."""
        plan = {
            "read": self._readable(),
            "write": [*self._plan.writable, self._outputs, self._temporary, *_DEVICES],
            "temporary": self._temporary,
        }
        file = Path(self._temporary, f".plan-{os.getpid()}-{next(self._numbers)}.json")
        write_private(file, json.dumps(plan).encode())
        return (sys.executable, "-I", "-S", _PROGRAM, str(file), *words)

    def follow(self, plan: SandboxPlan, is_hidden: Callable[[str], bool]) -> None:
        """Other borders from the next command on."""
        self._plan, self._is_hidden = plan, is_hidden

    def close(self) -> None:
        """Take the plans away."""
        for file in Path(self._temporary).glob(f".plan-{os.getpid()}-*.json"):
            file.unlink(missing_ok=True)

    def _readable(self) -> list[str] | None:
        """What stays readable; `None` where nothing is to be hidden. Landlock knows no denial: everything beside the hidden places is named."""
        hidden = (*self._plan.unreadable, *hidden_files(self._plan.writable, self._is_hidden))
        covered = {os.path.realpath(path) for path in hidden if os.path.lexists(path)}
        if not covered:
            return None
        return [*_beside(covered, "/"), *self._plan.readable]


def _beside(covered: Collection[str], folder: str) -> Iterator[str]:
    """The largest places below `folder` that hold none of `covered`."""
    try:
        places = sorted(Path(folder).iterdir())
    except OSError:
        return
    for place in places:
        path = str(place)
        if path in covered or place.is_symlink():
            continue
        inner = [one for one in covered if one.startswith(path + "/")]
        if inner:
            yield from _beside(inner, path)
        else:
            yield path
