"""Bubblewrap: a shell command in namespaces of its own, with a read-only root, chosen writable folders and no network.

Performs the probe and builds the command line from a plan and from what exists. Decides no border: that is `policy/sandbox.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from compositor.policy.sandbox import SandboxPlan

from .hidden import hidden_files
from .proxy import FilteringProxy

_PROXY_PORT = 3128
_BRIDGE = Path(__file__).with_name("bridge.py")
_PYTHON = os.path.realpath(sys.executable)
"""The interpreter behind a virtual environment, which may lie in `/tmp` and so be out of reach inside; the bridge needs the standard library only."""


class Probe(Struct, frozen=True):
    """`program` is `None` where commands cannot be confined; `reason` says what runs them or why nothing can."""

    program: str | None
    reason: str


def probe_bubblewrap(chosen: str | None = None) -> Probe:
    """Start the program once: many machines have it and forbid it."""
    program = chosen or shutil.which("bwrap")
    if program is None or sys.platform != "linux":
        return Probe(None, "bubblewrap is not installed")
    try:
        done = subprocess.run(  # noqa: S603  # the user's own program
            [program, *_BASE, "--unshare-net", "true"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return Probe(None, f"bubblewrap cannot be run: {problem}")
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:200]
        return Probe(None, f"bubblewrap may not make namespaces here: {said}")
    return Probe(program, f"bubblewrap at {program}")


_BASE = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
    "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
)  # fmt: skip


class BubblewrapSandbox:
    """Confines the commands of one session. `temporary` is its private folder for `/tmp` and `TMPDIR`.

    `outputs` is the folder into which the shell notes its directory; `is_hidden` says which existing files a wildcard rule covers.
    """

    def __init__(
        self,
        program: str,
        plan: SandboxPlan,
        *,
        temporary: str,
        outputs: str,
        is_hidden: Callable[[str], bool] | None = None,
    ) -> None:
        self._program = program
        self._plan = plan
        self._temporary = temporary
        self._outputs = outputs
        self._is_hidden = is_hidden
        self._made: list[str] = []
        self._proxy = FilteringProxy(plan) if plan.domains else None

    def confine(self, words: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The command line that runs `words` in `cwd` behind the borders of the plan."""
        arguments = [self._program, *_BASE, "--bind", self._temporary, "/tmp"]  # noqa: S108  # inside it is private
        for path in (*self._plan.writable, self._outputs):
            if Path(path).exists():
                arguments += ["--bind", path, path]
        for path in self._plan.kept:
            arguments += self._keep(path)
        hidden = hidden_files(self._plan.writable, self._is_hidden)
        covered = tuple(dict.fromkeys(os.path.realpath(path) for path in (*self._plan.unreadable, *hidden)))
        folders = [path for path in covered if Path(path).is_dir()]
        for path in folders:
            arguments += ["--tmpfs", path]
        for path in covered:
            arguments += ["--ro-bind", "/dev/null", path] if Path(path).is_file() else []
        for path in self._plan.readable:
            arguments += ["--ro-bind", path, path] if Path(path).exists() else []
        for path in folders:
            arguments += ["--remount-ro", path]
        arguments += ["--unshare-net", "--setenv", "TMPDIR", "/tmp", "--chdir", cwd]  # noqa: S108
        if self._proxy is not None:
            arguments += self._reach_out(self._proxy)
            words = (_PYTHON, "-I", "-S", "/tmp/.bridge.py", "/tmp/.proxy/socket", str(_PROXY_PORT), *words)  # noqa: S108
        return (*arguments, "--", *words)

    def follow(self, plan: SandboxPlan, is_hidden: Callable[[str], bool]) -> None:
        """Other borders from the next command on."""
        self._plan, self._is_hidden = plan, is_hidden
        if self._proxy is not None:
            self._proxy.follow(plan)
        elif plan.domains:
            self._proxy = FilteringProxy(plan)

    def close(self) -> None:
        """End the proxy and take away the empty folders that stood in for what did not exist."""
        if self._proxy is not None:
            self._proxy.close()
        for path in reversed(self._made):
            try:
                Path(path).rmdir()
            except OSError:
                continue
        self._made.clear()

    def _keep(self, path: str) -> list[str]:
        """Read-only where it exists. Where it does not, an empty folder stands there, so that nothing can be put in its place."""
        if Path(path).exists():
            return ["--ro-bind", path, path] if self._is_writable(path) else []
        parent = Path(path).parent
        if (
            not self._is_writable(path)
            or not parent.is_dir()
            or path.rsplit("/", 1)[-1] not in {".claude", ".mcp.json", "hooks"}
        ):
            return []
        try:
            Path(path).mkdir(mode=0o700)
        except OSError:
            return []
        self._made.append(path)
        return ["--ro-bind", path, path]

    def _is_writable(self, path: str) -> bool:
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in self._plan.writable)

    def _reach_out(self, proxy: FilteringProxy) -> list[str]:
        address = f"http://127.0.0.1:{_PROXY_PORT}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        variables = [part for name in names for part in ("--setenv", name, address)]
        inside = ["--ro-bind", str(_BRIDGE), "/tmp/.bridge.py", "--bind", proxy.start(), "/tmp/.proxy"]  # noqa: S108
        return [*self._interpreter(), *inside, *variables]

    @staticmethod
    def _interpreter() -> list[str]:
        """What the bridge runs with, where the private `/tmp` would hide it."""
        base = os.path.realpath(sys.base_prefix)
        return ["--ro-bind", base, base] if base.startswith("/tmp/") else []  # noqa: S108
