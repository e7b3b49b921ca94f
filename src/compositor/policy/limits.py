"""What a helper may do at most, whatever it was told and whatever rules and modes would allow (R330).

Decides by tool and real path. What is outside is refused before rules, hooks, modes and persons are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct


class ToolLimits(Struct, frozen=True, kw_only=True):
    """`tools` are names, `*` in them standing for anything; `None` for all. `denied` are taken away from them.

    With `file` (absolute, every link followed) a call has to touch that one file and nothing else.
    """

    tools: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    file: str | None = None

    def refusal(self, name: str, paths: Sequence[str]) -> str | None:
        """Why a call of `name` that touches the real `paths` may not run; `None` lets it through. A call without a path touches nothing it may."""
        if any(fnmatchcase(name, denied) for denied in self.denied):
            return f"this helper may not use {name}"
        if self.tools is not None and not any(fnmatchcase(name, tool) for tool in self.tools):
            return f"this helper may use {', '.join(self.tools) or 'no tool'} and nothing else"
        if self.file is not None and (not paths or any(path != self.file for path in paths)):
            return f"this helper may change {self.file} and nothing else"
        return None
