"""Notices that a settings file changed while a session runs (project-conventions 2.4).

Performs a look at the files' times and sizes, and a reading when one differs. What of the new settings applies is decided by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from compositor.config.settings import Settings
from compositor.errors import ConfigError

from .settings_files import SettingsPlaces


class SettingsWatch:
    """The settings of one session. `load` reads them all; a change of the files `also` counts like one of them."""

    def __init__(self, places: SettingsPlaces, load: Callable[[], Settings], also: tuple[str, ...] = ()) -> None:
        self._files = (*_candidates(places), *map(Path, also))
        self._load = load
        self._seen = self._look()

    def changed(self) -> Settings | ConfigError | None:
        """New settings, once for each change; an error when they cannot be read, and then the old ones stay in force."""
        now = self._look()
        if now == self._seen:
            return None
        self._seen = now
        try:
            return self._load()
        except ConfigError as problem:
            return problem

    def _look(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(file) for file in self._files)


def _candidates(places: SettingsPlaces) -> list[Path]:
    found = [
        Path(folder) / name for folder in places.managed for name in ("managed-settings.json", "managed-settings.d")
    ]
    if places.user is not None:
        found.append(Path(places.user) / "settings.json")
    for folder in dict.fromkeys((places.cwd, places.root)):
        found += [Path(folder) / ".claude" / name for name in ("settings.json", "settings.local.json")]
    return found


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
