"""The report on instruction files: looks where a session would look, and at the rest of the project besides.

Performs reading and remembering. What a finding is, is decided in `context/memory/report`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from compositor.config.contract import RunContract, resolve_contract
from compositor.config.flags import SOURCES, Flags
from compositor.config.price import priced
from compositor.context.memory.chain import MemoryChain, nested_flow
from compositor.context.memory.report import MemoryReport, plan_report

from .approvals import remember_import
from .git import read_git
from .home import find_home
from .memory_files import drive, load_memory, load_nested
from .memory_places import FoundPlace, find_memory_place
from .memory_survey import survey_project
from .settings_files import find_places, load_settings


class MemoryDesk:
    """One project's instruction files, as a session that starts now would find them."""

    def __init__(self, contract: RunContract, found: FoundPlace, start: MemoryChain, home: Path) -> None:
        self._contract = contract
        self._found = found
        self._start = start
        self._home = home

    @classmethod
    def open(cls, cwd: str, flags: Flags, environ: Mapping[str, str]) -> MemoryDesk:
        """Read what a session in the real path `cwd` would read. Raises what its settings raise."""
        places = find_places(cwd, environ)
        settings = load_settings(places, given=flags.settings, sources=flags.setting_sources)
        contract = resolve_contract(flags, settings, environ, cwd=cwd)
        levels = SOURCES if flags.setting_sources is None else flags.setting_sources
        found = find_memory_place(
            contract, places, environ, read_git(cwd, environ), sources=tuple(level.value for level in levels)
        )
        return cls(contract, found, load_memory(found.place), find_home(environ))

    def report(self, wanted: str | None = None) -> MemoryReport:
        """Everything that applies, waits or was left out; with `wanted`, what work on that file brings in."""
        place, start = self._found.place, self._start
        survey = survey_project(place.cwd)
        told = [f"{folder}/CLAUDE.md" for folder in survey.nested]
        applying = None if wanted is None else load_nested(place, start, [_absolute(wanted, place.cwd)])
        price = priced(self._contract.model, self._contract.settings.compositor.prices)
        return plan_report(
            place,
            start,
            drive(nested_flow(place, start, (), told)),
            survey,
            applying=applying,
            tier=None if price is None else price.tiers[0],
            diagnostics=self._found.diagnostics,
        )

    def unanswered(self) -> tuple[str, ...]:
        """Files outside that the project asks for and that nobody answered for yet."""
        return self._start.outside

    def remember(self, path: str, *, allowed: bool) -> None:
        """Remember the answer to imports of a file or folder."""
        remember_import(self._home, self._found.project, path, allowed=allowed)


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(Path(cwd, Path(path).expanduser()))
