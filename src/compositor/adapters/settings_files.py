"""Where settings files lie, and their bytes as layers.

Performs the reading; which entry counts and which level wins is `config`. Missing files are fine, unreadable ones are
errors. Never writes a file and never runs git.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from compositor.config.layer import Layer, Level, parse_layer
from compositor.config.settings import Settings, merge_layers
from compositor.errors import SettingsError
from compositor.types.diagnostics import Diagnostic, Severity

SIZE_LIMIT = 2 * 1024 * 1024
"""Bytes that a settings file may have."""


class SettingsPlaces(Struct, frozen=True, kw_only=True):
    """Where to look. `managed` directories in order, of which the first that holds a key is the only one used (2.3).

    `user` is the configuration home, `root` the directory whose local settings count beside those of `cwd`.
    """

    cwd: str
    managed: tuple[str, ...]
    user: str | None
    root: str


def find_places(cwd: str, environment: Mapping[str, str], *, system: str | None = None) -> SettingsPlaces:
    """The places for a run that starts in `cwd`.

    `COMPOSITOR_MANAGED_DIR` names a managed directory for machines whose system directory holds no policy: it can add one,
    never replace one. `system` is the system directory, the platform's own when not given.
    """
    managed = (system or system_directory(), environment.get("COMPOSITOR_MANAGED_DIR", ""))
    home = _home(environment)
    user = environment.get("CLAUDE_CONFIG_DIR") or (str(home / ".claude") if home else None)
    start = Path(cwd).resolve()
    return SettingsPlaces(
        cwd=str(start),
        managed=tuple(directory for directory in managed if directory),
        user=user,
        root=str(_local_root(start, home)),
    )


def system_directory() -> str:
    """The directory that administrators own (project-conventions 0.1)."""
    if sys.platform == "darwin":
        return "/Library/Application Support/ClaudeCode"
    return r"C:\Program Files\ClaudeCode" if sys.platform == "win32" else "/etc/claude-code"


def load_settings(
    places: SettingsPlaces, *, given: str | None = None, sources: tuple[Level, ...] | None = None
) -> Settings:
    """Read every layer and merge them.

    `given` is the value of `--settings`: a path or an inline JSON object. `sources` are the levels whose files are read,
    `None` for all; managed and given settings always are. Raises `SettingsError`.
    """
    return merge_layers(load_layers(places, given=given, sources=sources))


def load_layers(
    places: SettingsPlaces, *, given: str | None = None, sources: tuple[Level, ...] | None = None
) -> tuple[Layer, ...]:
    """The layers themselves; of one level, the later is the higher."""
    wanted = frozenset(Level) if sources is None else frozenset(sources)
    layers = list(_managed_layers(places))
    if Level.USER in wanted and places.user is not None:
        layers += _layer(Path(places.user) / "settings.json", Level.USER, base=places.user)
    if Level.PROJECT in wanted:
        layers += _project_layer(places)
    if Level.LOCAL in wanted:
        layers += _local_layers(places)
    if given is not None:
        layers.append(_given_layer(given, places.cwd))
    return tuple(layers)


def _managed_layers(places: SettingsPlaces) -> Iterator[Layer]:
    """The layers of the first directory that delivers a key; a further one that holds files is reported."""
    winner: str | None = None
    for directory in places.managed:
        layers = [layer for file in _managed_files(Path(directory)) for layer in _layer(file, Level.MANAGED, directory)]
        if winner is not None and layers:
            message = f"The managed settings of {directory!r} are not used: those of {winner!r} come first"
            note = Diagnostic("settings.managed-unused", message, directory, Severity.WARNING, "settings")
            yield Layer(level=Level.MANAGED, file=directory, base=directory, diagnostics=(note,))
            continue
        yield from layers
        if any(layer.values for layer in layers):
            winner = directory


def _managed_files(directory: Path) -> list[Path]:
    """The base file, then the drop-ins in alphabetical order; hidden and other files are no drop-ins."""
    drop_ins = directory / "managed-settings.d"
    try:
        names = sorted(path.name for path in drop_ins.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        names = []
    except OSError as problem:
        raise _unreadable(drop_ins, problem) from None
    kept = (name for name in names if name.endswith(".json") and not name.startswith("."))
    return [directory / "managed-settings.json", *(drop_ins / name for name in kept)]


def _project_layer(places: SettingsPlaces) -> list[Layer]:
    file = Path(places.cwd) / ".claude" / "settings.json"
    if places.user is not None and _is_same(file, Path(places.user) / "settings.json"):
        # A run that starts in the home directory: the file is the user's own and is read as that.
        return []
    return _layer(file, Level.PROJECT, places.cwd, shared=True)


def _local_layers(places: SettingsPlaces) -> list[Layer]:
    """The start directory's file, written by older versions, below the root's."""
    found: list[Layer] = []
    for directory in dict.fromkeys((places.cwd, places.root)):
        folder = Path(directory) / ".claude"
        file = folder / "settings.local.json"
        if _is_there(file):
            shared = folder.is_symlink() or _is_tracked(file, Path(places.root))
            # Paths inside resolve from the start directory, wherever the file lies (2.7).
            found += _layer(file, Level.LOCAL, places.cwd, shared=shared)
    return found


def _given_layer(given: str, cwd: str) -> Layer:
    if given.lstrip().startswith("{"):
        data = given.encode("utf-8", "surrogatepass")
        _refuse_size(data, "--settings")
        return parse_layer(data, level=Level.CLI, file="--settings", base=cwd)
    path = Path(cwd) / Path(given).expanduser()
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as problem:
        raise _unreadable(path, problem) from None
    _refuse_size(data, str(path))
    return parse_layer(data, level=Level.CLI, file=str(path), base=str(path.parent))


def _layer(file: Path, level: Level, base: str, *, shared: bool = False) -> list[Layer]:
    """The file's layer, nothing where there is no file."""
    data = _read(file)
    if data is None:
        return []
    return [parse_layer(data, level=level, file=str(file), base=base, shared=shared)]


def _read(path: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # A pipe or a device would block or never end.
            raise SettingsError(f"The settings file {str(path)!r} is no regular file", path=str(path))
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise _unreadable(path, problem) from None
    _refuse_size(data, str(path))
    return data


def _refuse_size(data: bytes, name: str) -> None:
    if len(data) > SIZE_LIMIT:
        raise SettingsError(
            f"The settings of {name!r} are too large: expected at most {SIZE_LIMIT} bytes",
            path=name,
            expected=f"at most {SIZE_LIMIT} bytes",
            got="more",
        )


def _unreadable(path: Path, problem: OSError) -> SettingsError:
    return SettingsError(
        f"The settings in {str(path)!r} cannot be read: {problem.strerror or type(problem).__name__}",
        path=str(path),
        hint="Make them readable, or name another file",
    )


def _home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) if home else None


def _local_root(start: Path, home: Path | None) -> Path:
    """The root of the git repository, or `start` where the root may not count (project-conventions 0.1)."""
    root = next((directory for directory in (start, *start.parents) if _is_there(directory / ".git")), None)
    if root is None or sys.platform == "win32" or (home is not None and _is_same(root, home)):
        return start
    return root if all(_is_own(path) for path in (root, root / ".git", root / ".claude")) else start


def _is_own(path: Path) -> bool:
    """True for what belongs to this user, and for what is not there."""
    try:
        return sys.platform == "win32" or path.stat().st_uid == os.getuid()
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_tracked(file: Path, root: Path) -> bool:
    """Whether git tracks the file, read from the index alone: true also where the index cannot be read that simply.

    Versions 2 and 3 of the index hold whole path names, so that a search finds them; version 4 and shared indexes do not.
    """
    git = _git_directory(root)
    try:
        data = (git / "index").read_bytes()
        name = file.resolve().relative_to(root.resolve()).as_posix()
        is_shared = any(git.glob("sharedindex.*"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    is_plain = data[:8] in {b"DIRC\0\0\0\2", b"DIRC\0\0\0\3"} and not is_shared
    return not is_plain or name.encode() + b"\0" in data


def _git_directory(root: Path) -> Path:
    """`.git`, or where the file of that name points in a worktree."""
    marker = root / ".git"
    try:
        text = marker.read_text("utf-8") if marker.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return marker
    return root / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else marker
