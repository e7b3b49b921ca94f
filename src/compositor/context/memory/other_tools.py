"""Instruction files that other tools read: their names, for the report (R417, project-conventions 1.4).

Decides which names count. Whether one of them is read here is the chain's business: `AGENTS.md` can be, the others only as imports.
"""

from __future__ import annotations

OTHER_NAMES: frozenset[str] = frozenset(
    {"AGENTS.md", "GEMINI.md", "QWEN.md", ".cursorrules", ".windsurfrules", ".clinerules"}
)
"""Files that count in any folder."""

OTHER_PATHS: tuple[str, ...] = (".github/copilot-instructions.md",)
"""Files that count below the folder of a project."""

OTHER_FOLDERS: tuple[str, ...] = (
    ".cursor/rules",
    ".windsurf/rules",
    ".devin/rules",
    ".clinerules",
    ".github/instructions",
)
"""Folders of rules; each Markdown file in them counts."""


def is_other_tools(path: str) -> bool:
    """Whether the path, relative to a project, is an instruction file of another tool."""
    folder, _, name = path.rpartition("/")
    inside = f"/{path}"
    return (
        name in OTHER_NAMES
        or any(inside.endswith(f"/{known}") for known in OTHER_PATHS)
        or (name.endswith((".md", ".mdc")) and any(f"/{folder}/".find(f"/{known}/") >= 0 for known in OTHER_FOLDERS))
    )
