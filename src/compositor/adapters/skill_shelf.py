"""The skills and agents of a running session: looked for anew where they can have changed, parsed only when they did.

Performs the look-up. Which skills there are, and which of them the model is told, is decided in `context/extensions`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from compositor.context.extensions.agents import AgentDefinition
from compositor.context.extensions.catalog import Catalog
from compositor.context.extensions.skills import Skill

from .extension_desk import ExtensionDesk


class SkillShelf:
    """One session's. `catalog` is what the last look found; `below` are folders under the start directory that the work has reached."""

    def __init__(self, desk: ExtensionDesk) -> None:
        self._desk = desk
        self._below: dict[str, None] = {}
        self.catalog: Catalog[Skill] = desk.skills()
        self.agents: Catalog[AgentDefinition] = desk.agents()

    @property
    def cwd(self) -> str:
        return self._desk.places.cwd

    @property
    def below(self) -> Sequence[str]:
        return tuple(self._below)

    def look(self, reached: Iterable[str] = (), folders: Iterable[str] = ()) -> Catalog[Skill]:
        """Look again. Folders between a reached file and the start directory count from now on, and `folders`, which counted before."""
        for path in reached:
            self._below.update(dict.fromkeys(self._between(os.path.realpath(path))))
        self._below.update(dict.fromkeys(folders))
        self.catalog = self._desk.skills(self.below)
        self.agents = self._desk.agents()
        return self.catalog

    def _between(self, path: str) -> list[str]:
        """The folders over `path` and below the start directory that have skills of their own."""
        cwd = Path(self.cwd)
        parents = [folder for folder in Path(path).parents if folder.is_relative_to(cwd) and folder != cwd]
        return [str(folder) for folder in parents if Path(folder, ".claude", "skills").is_dir()]
