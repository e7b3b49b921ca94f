"""Files of the agents of a session: what each of them was, its whole report, its own notes (project-conventions 6.4, 6.5).

Performs reading and writing. Decides where notes lie: those of the user in the product's own folder, those of a project in its `.claude`.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.context.extensions.agents import AgentDefinition
from compositor.context.memory.automatic import keeping_rules
from compositor.context.memory.cut import cut_index
from compositor.context.memory.facts import INDEX_NAME, MemoryFolder
from compositor.types.memory import MemoryLevel

from .files import FileProblem, read_file
from .home import private_folder, write_private

_FOLDERS = {"project": "agent-memory", "local": "agent-memory-local"}


class AgentMemory(Struct, frozen=True):
    """The folder that an agent keeps notes in (absolute), and what it is told of them."""

    folder: str
    words: str


def agent_memory(home: Path, cwd: str, definition: AgentDefinition) -> AgentMemory | None:
    """The notes of an agent that keeps any; the folder of a project is made by the first note."""
    if not definition.memory:
        return None
    if definition.memory == "user":
        folder = private_folder(home, "agent-memory", definition.name)
    else:
        folder = Path(cwd, ".claude", _FOLDERS[definition.memory], definition.name)
    path = folder / INDEX_NAME
    found = read_file(str(path))
    text = "" if isinstance(found, FileProblem) else found.data.decode("utf-8", "replace")
    rules = keeping_rules(MemoryFolder(path=str(folder), level=MemoryLevel.AGENT, is_kept=True))
    index = (
        f"What you noted before ({path}):\n{cut_index(text, str(path)).text}"
        if text.strip()
        else "There are no notes yet."
    )
    return AgentMemory(str(folder), f"{rules}\n\n{index}")


def write_agent_note(folder: Path, worker_id: str, *, kind: str, description: str) -> None:
    """Keep beside the transcript what the agent was."""
    note = {"agentType": kind, "description": description}
    write_private(folder / f"{worker_id}.meta.json", msgspec.json.encode(note))


def keep_report(folder: str, worker_id: str, text: str) -> str:
    """Store a whole report; its path."""
    path = Path(folder, f"{worker_id}-report.txt")
    write_private(path, text.encode("utf-8", "replace"))
    return str(path)
