"""The tool pool of a request: which tools are offered, in which order, and why the others are not (R236 to R239, R252).

Decides selection and order. Never decides what a call may do: that is the enforcement line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace

from compositor.types.provenance import Attribution, Lane, Lifetime, Omission, Source
from compositor.types.request import HeadTool
from compositor.types.tools import ToolDefinition, ToolOrigin
from compositor.types.verdicts import PermissionMode

from .builtin import BUILTIN, BUILTIN_TOOLS
from .display import display_call
from .names import map_names

__all__ = ["BUILTIN", "BUILTIN_TOOLS", "as_head_tools", "display", "select_tools", "sort_tools"]

display = display_call

LIFETIMES: Final[Mapping[ToolOrigin, Lifetime]] = {
    ToolOrigin.BUILTIN: Lifetime.RELEASE,
    ToolOrigin.PLUGIN: Lifetime.SESSION,
    ToolOrigin.AGENT: Lifetime.SESSION,
    ToolOrigin.MCP: Lifetime.SESSION,
    ToolOrigin.DYNAMIC: Lifetime.CONVERSATION,
}
"""Origins in the order of their partitions, slowest first: a change in one never moves the bytes of those before it."""

_RANK = {origin: rank for rank, origin in enumerate(LIFETIMES)}

HIDDEN_IN_MODE: Final[Mapping[PermissionMode, frozenset[str]]] = {
    PermissionMode.DONT_ASK: frozenset({"AskUserQuestion"}),
}
"""Built-in tools that make no sense in a mode. Plan mode hides none: it may change mid-session, and its writes are blocked
by the gate (R366), so the prefix stays."""

_STEP = "tools.select"


def select_tools(
    candidates: Iterable[ToolDefinition],
    tools_flag: Sequence[str] | None,
    denied_bare_names: Iterable[str],
    mode: PermissionMode,
) -> tuple[tuple[ToolDefinition, ...], tuple[Omission, ...]]:
    """The tools to offer, sorted, and one omission for each candidate that is not.

    `tools_flag` is the list of `--tools`: `None` or an entry `default` keeps every built-in, an empty list none; other origins
    are not touched by it. `denied_bare_names` are deny rules without a specifier, matched against real names (F10): a name, a
    name glob, or `mcp__server` for all tools of a server. The result does not depend on the order of `candidates` (F13).
    """
    denied = tuple(denied_bare_names)
    included: dict[str, ToolDefinition] = {}
    omissions: list[Omission] = []
    for tool in sort_tools(candidates):
        reason = _reason_to_omit(tool, tools_flag, denied, mode)
        if reason is None and tool.name in included:
            reason = f"another tool has this name and comes first ({included[tool.name].origin.value})"
        if reason is None:
            included[tool.name] = tool
        else:
            omissions.append(Omission(f"tool {tool.name!r}", reason, _STEP, Source("tool", tool.name)))
    return tuple(included.values()), tuple(omissions)


def sort_tools(tools: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    """Built-ins first, then each origin in turn, by name within each; a stable order for any arrangement of the input (R239)."""
    return tuple(
        sorted(tools, key=lambda tool: (_RANK[tool.origin], tool.name, tool.description, bytes(tool.input_schema)))
    )


def as_head_tools(tools: Iterable[ToolDefinition], gate: str = "offered by the tool pool") -> tuple[HeadTool, ...]:
    """`tools` in pool order with the reason why each is in the request. Names become legal ones (L100, F10).

    `gate` says which gate let them in. The source keeps the real name; `names.map_names` over the same names finds it back.
    """
    ordered = sort_tools(tools)
    wire = map_names(tool.name for tool in ordered).wire
    return tuple(
        HeadTool(
            replace(tool, name=wire[tool.name]) if wire[tool.name] != tool.name else tool,
            Attribution(Source("tool", tool.name), Lane.TOOLS, LIFETIMES[tool.origin], f"{tool.origin.value}: {gate}"),
        )
        for tool in ordered
    )


def _reason_to_omit(
    tool: ToolDefinition, tools_flag: Sequence[str] | None, denied: tuple[str, ...], mode: PermissionMode
) -> str | None:
    if tool.origin is ToolOrigin.BUILTIN:
        if tools_flag is not None and "default" not in tools_flag and tool.name not in tools_flag:
            return "not named by --tools"
        if tool.name in HIDDEN_IN_MODE.get(mode, ()):
            return f"not offered in permission mode {mode.value!r}"
    for pattern in denied:
        if _is_denied(tool.name, pattern):
            return f"removed by the deny rule {pattern!r}"
    return None


def _is_denied(name: str, pattern: str) -> bool:
    is_server = pattern.startswith("mcp__") and name.startswith(f"{pattern}__")
    return is_server or fnmatchcase(name, pattern)
