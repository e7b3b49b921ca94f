"""compositor: a context engine that compiles each model request of a coding agent, and the agent around it.

Decides the public names and nothing else. Each is loaded when it is first asked for, so that `import compositor` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .config.flags import Flags
    from .context.compile import compile_request
    from .context.explain import first_difference, spans
    from .errors import CompositorError
    from .opened import Opened, Opening, open_session
    from .runtime.agent import Agent
    from .types.request import Compiled
    from .types.snapshot import Snapshot
    from .wiring import build_agent

_HOMES = {
    "Agent": "runtime.agent",
    "Compiled": "types.request",
    "CompositorError": "errors",
    "Flags": "config.flags",
    "Opened": "opened",
    "Opening": "opened",
    "Snapshot": "types.snapshot",
    "build_agent": "wiring",
    "compile_request": "context.compile",
    "first_difference": "context.explain",
    "open_session": "opened",
    "spans": "context.explain",
}

__all__ = (
    "Agent",
    "Compiled",
    "CompositorError",
    "Flags",
    "Opened",
    "Opening",
    "Snapshot",
    "__version__",
    "build_agent",
    "compile_request",
    "first_difference",
    "open_session",
    "spans",
)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'compositor' has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"compositor.{home}"), name)
    return found
