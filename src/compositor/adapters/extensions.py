"""Finds the files of skills, commands, agents and output styles in the places of this run (project-conventions 5.1, 6.1, 8).

Performs the walk and the reading. Which file is a definition, and which of two counts, is decided in `context/extensions`. Follows links to
folders, each real folder once; a pipe or a device in the place of a file is a file that cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from compositor.config.layer import Level
from compositor.context.extensions.catalog import Kind, Place, SourceFile

from .files import FileProblem, is_directory, read_file

MAX_BYTES = 1024 * 1024
"""Bytes of one file; what is larger is no instruction."""
MAX_DEPTH = 8
"""Folders below `agents/` or `commands/` that are entered."""

_LOOSE = "a skill is a folder with a file SKILL.md, not a file"
_FOLDERS = {Kind.SKILL: "skills", Kind.COMMAND: "commands", Kind.AGENT: "agents", Kind.STYLE: "output-styles"}


class ExtensionPlaces(Struct, frozen=True, kw_only=True):
    """Where to look. `cwd` and `root` (the top of the checkout, `None` outside of one) are real paths; `user` is the configuration home.

    `levels` are those whose files are read; managed files always are.
    """

    cwd: str
    root: str | None
    user: str | None
    managed: tuple[str, ...] = ()
    levels: frozenset[Level] = frozenset({Level.USER, Level.PROJECT, Level.LOCAL})

    def folders(self, kind: Kind) -> Iterator[tuple[Place, Path]]:
        """The folders that may hold `skills/`, `agents/` and the others, in the order in which a name is looked for.

        Skills are also found in `.agents/` of the project, where other tools look for them: behind `.claude/` of the same directory.
        """
        names = (".claude", ".agents") if kind is Kind.SKILL else (".claude",)
        user = None if self.user is None else Path(self.user)
        for directory in self.managed:
            yield Place.MANAGED, Path(directory, ".claude")
        if Level.PROJECT in self.levels:
            # The home directory's own folder holds what is personal, also where a project lies right in it.
            folders = (Path(directory, name) for directory in self._upwards() for name in names)
            yield from ((Place.PROJECT, folder) for folder in folders if folder != user)
        if Level.USER in self.levels and user is not None:
            yield Place.USER, user

    def _upwards(self) -> Iterator[str]:
        """The start directory and its parents up to the top of the checkout; outside of one the start directory alone."""
        yield self.cwd
        if self.root is None or not self.cwd.startswith(self.root.rstrip("/") + "/"):
            return
        for parent in Path(self.cwd).parents:
            yield str(parent)
            if str(parent) == self.root:
                return


def find_extensions(places: ExtensionPlaces, kind: Kind) -> tuple[SourceFile, ...]:
    """Every file of a kind, nearest first within a place, by name within a folder. Never raises for what cannot be read."""
    return _found(places.folders(kind), kind)


def find_below(folders: Sequence[str], kind: Kind) -> tuple[SourceFile, ...]:
    """The files of a kind in `.claude/` of these folders of the project, which lie below the start directory."""
    return find_in([str(Path(folder, ".claude")) for folder in folders], kind)


def find_in(folders: Iterable[str], kind: Kind) -> tuple[SourceFile, ...]:
    """The files of a kind in `skills/`, `agents/` and the others of these folders, as those of a project."""
    return _found(((Place.PROJECT, Path(folder)) for folder in folders), kind)


def _found(folders: Iterable[tuple[Place, Path]], kind: Kind) -> tuple[SourceFile, ...]:
    seen: set[str] = set()
    found: list[SourceFile] = []
    for place, folder in folders:
        top = folder / _FOLDERS[kind]
        paths = _skill_files(top) if kind is Kind.SKILL else _markdown(top, MAX_DEPTH, set())
        for name, path in paths:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                found.append(_read(kind, place, name, str(path)))
    return tuple(found)


def _skill_files(top: Path) -> Iterator[tuple[str, Path]]:
    """A folder without the file, and a file without a folder, are named as well: somebody meant them to be skills."""
    for path in _below(top):
        if is_directory(str(path)):
            yield path.name, path / "SKILL.md"
        elif path.suffix == ".md" and path.name != "README.md":
            yield path.stem, path


def _markdown(top: Path, depth: int, entered: set[str]) -> Iterator[tuple[str, Path]]:
    """The Markdown files below `top`, folder by folder; each real folder once, so that no link leads in a circle."""
    real = os.path.realpath(top)
    if depth == 0 or real in entered:
        return
    entered.add(real)
    folders = []
    for path in _below(top):
        if is_directory(str(path)):
            folders.append(path)
        elif path.suffix == ".md":
            yield path.stem, path
    for folder in folders:
        yield from _markdown(folder, depth - 1, entered)


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _read(kind: Kind, place: Place, name: str, path: str) -> SourceFile:
    if kind is Kind.SKILL and not path.endswith("/SKILL.md"):
        return SourceFile(kind=kind, place=place, name=name, path=path, problem=_LOOSE)
    file = read_file(path, MAX_BYTES)
    if isinstance(file, FileProblem):
        missing = kind is Kind.SKILL and file.is_missing
        problem = "the folder has no file SKILL.md" if missing else file.message
        return SourceFile(kind=kind, place=place, name=name, path=path, problem=problem)
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError as error:
        return SourceFile(kind=kind, place=place, name=name, path=path, problem=f"byte {error.start} is not UTF-8")
    return SourceFile(kind=kind, place=place, name=name, path=path, text=text)
