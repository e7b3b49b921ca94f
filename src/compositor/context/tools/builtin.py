"""The built-in tools as one list, sorted by name.

Decides which files the list is made of. What a tool promises stands in those, whether it is offered in `config/candidates.py` and
`catalog.py`, what it does in `adapters/tools/`.
"""

from __future__ import annotations

from compositor.types.tools import ToolDefinition

from .builtin_extensions import EXTENSION_TOOLS
from .builtin_files import FILE_TOOLS
from .builtin_outside import OUTSIDE_TOOLS
from .builtin_session import SESSION_TOOLS
from .builtin_shell import SHELL_TOOLS

BUILTIN_TOOLS: tuple[ToolDefinition, ...] = tuple(
    sorted((*EXTENSION_TOOLS, *FILE_TOOLS, *OUTSIDE_TOOLS, *SESSION_TOOLS, *SHELL_TOOLS), key=lambda tool: tool.name)
)

BUILTIN: dict[str, ToolDefinition] = {tool.name: tool for tool in BUILTIN_TOOLS}
