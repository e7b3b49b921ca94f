"""Notices that a settings file changed while a session runs (project-conventions 2.4).

Performs a look at the files' times and sizes, and a reading when one differs. What of the new settings applies is decided by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from compositor.config.settings import Settings
from compositor.errors import ConfigError
from compositor.ports import SettingsChange

from .settings_files import SettingsPlaces

_Stamp: TypeAlias = tuple[int, int, int]


class SettingsWatch:
    """The settings of one session. `load` reads them all; a change of the files `also` counts like one of them."""

    def __init__(self, places: SettingsPlaces, load: Callable[[], Settings], also: tuple[str, ...] = ()) -> None:
        self._places = places
        self._also = also
        self._load = load
        self._seen = self._look()

    def changed(self) -> SettingsChange | None:
        """New settings, once for each change; or why they cannot be read, and then the old ones stay in force."""
        before, now = self._seen, self._look()
        if now == before:
            return None
        self._seen = now
        files = tuple(
            (source, str(file))
            for source, file in dict.fromkeys((*before, *now))
            if before.get((source, file)) != now.get((source, file))
        )
        try:
            return SettingsChange(files=files, settings=self._load())
        except ConfigError as problem:
            return SettingsChange(files=files, problem=problem.message, where=problem.where or "")

    def _look(self) -> dict[tuple[str, Path], _Stamp | None]:
        files = (*_candidates(self._places), *(("local_settings", Path(file)) for file in self._also))
        return {(source, file): _stamp(file) for source, file in files}


def _candidates(places: SettingsPlaces) -> Iterator[tuple[str, Path]]:
    """Every file that counts or would count, under the name that hooks know its level by (project-conventions 4.2)."""
    for folder in places.managed:
        yield "policy_settings", Path(folder) / "managed-settings.json"
        yield from (("policy_settings", file) for file in sorted(Path(folder, "managed-settings.d").glob("*.json")))
    if places.user is not None:
        yield "user_settings", Path(places.user) / "settings.json"
    for folder in dict.fromkeys((places.cwd, places.root)):
        yield "project_settings", Path(folder) / ".claude" / "settings.json"
        yield "local_settings", Path(folder) / ".claude" / "settings.local.json"


def _stamp(file: Path) -> _Stamp | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
