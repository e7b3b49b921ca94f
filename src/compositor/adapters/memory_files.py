"""Reads instruction files for the memory chain.

Performs reads and reports what happened; which files, and what to think of them, is decided in `context/memory`. Opens regular files
only: a pipe or a device in the place of a file cannot block or feed it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from compositor.context.memory.automatic import Note, index_flow, notes_flow
from compositor.context.memory.chain import MemoryChain, memory_flow, nested_flow
from compositor.context.memory.facts import Fact, FileFact, FolderFact, MemoryFolder, MemoryPlace, Missing, Need
from compositor.context.memory.imports import is_inside

T = TypeVar("T")


def load_memory(place: MemoryPlace) -> MemoryChain:
    """The chain and the indexes of a session's start. No file that is missing or broken raises."""
    chain = drive(memory_flow(place), place.is_hidden)
    indexes = drive(index_flow(place.folders), place.is_hidden)
    notes = tuple(note for index in indexes for note in index.diagnostics)
    return msgspec.structs.replace(chain, indexes=indexes, diagnostics=(*chain.diagnostics, *notes))


def load_nested(
    place: MemoryPlace, start: MemoryChain, reached: Iterable[str], told: Iterable[str] = ()
) -> MemoryChain:
    """What applies besides `start` now that work has reached these absolute paths, whatever links they go through."""
    flow = nested_flow(place, start, [_spelling(path, place) for path in reached], told)
    return drive(flow, place.is_hidden)


def load_notes(place: MemoryPlace) -> tuple[Note, ...]:
    """Every note of team and automatic memory."""
    return drive(notes_flow(place.folders), place.is_hidden)


def drive(flow: Generator[Need, Sequence[Fact], T], is_hidden: Callable[[str], bool] | None = None) -> T:
    """Answer the questions of a flow from the file system until it returns. A hidden file cannot be read, whatever names it."""
    try:
        need = next(flow)
        while True:
            need = flow.send(tuple(_shown(fact, is_hidden) for fact in read_facts(need)))
    except StopIteration as end:
        result: T = end.value
        return result


def _shown(fact: Fact, is_hidden: Callable[[str], bool] | None) -> Fact:
    if is_hidden is None or not isinstance(fact, FileFact) or fact.data is None:
        return fact
    if not is_hidden(fact.path) and not (fact.real is not None and is_hidden(fact.real)):
        return fact
    return FileFact(path=fact.path, real=fact.real, missing=Missing.UNREADABLE, detail="a rule denies reading it")


def read_facts(need: Need) -> Iterator[Fact]:
    """The facts of every path in `need`."""
    for path in need.files:
        yield read_file(path, need.limit)
    for path in need.folders:
        yield read_folder(path)


def read_file(path: str, limit: int) -> FileFact:
    """One file, whole, or why not. `limit` in bytes."""
    try:
        # Most candidates are not there: asking that first costs a tenth of finding out where they would be.
        os.stat(path)  # noqa: PTH116
        real = os.path.realpath(path)
        status = Path(real).stat()
        if not stat.S_ISREG(status.st_mode):
            return FileFact(path=path, real=real, missing=Missing.NOT_A_FILE)
        if status.st_size > limit:
            return FileFact(path=path, real=real, size=status.st_size, missing=Missing.TOO_LARGE)
        data, status = _read_regular(real, limit)
    except (FileNotFoundError, NotADirectoryError):
        return FileFact(path=path, missing=Missing.ABSENT)
    except (OSError, ValueError) as problem:
        # ValueError: a NUL in the path. ENAMETOOLONG is an OSError like the others: such a file cannot be there.
        return _unreadable(path, problem)
    if data is None:
        return FileFact(path=path, real=real, missing=Missing.NOT_A_FILE)
    if len(data) > limit:
        return FileFact(path=path, real=real, size=max(status.st_size, len(data)), missing=Missing.TOO_LARGE)
    return FileFact(path=path, real=real, data=data, size=len(data), modified=status.st_mtime_ns)


def read_folder(path: str) -> FolderFact:
    """The Markdown files and folders directly in `path`, links followed; empty where there is no folder."""
    try:
        with os.scandir(path) as entries:
            listing = [(entry.name, _is_folder(entry)) for entry in entries]
        real = os.path.realpath(path)
    except (FileNotFoundError, NotADirectoryError):
        return FolderFact(path=path)
    except OSError as problem:
        return FolderFact(path=path, detail=problem.strerror or "unknown reason")
    files = tuple(name for name, is_folder in listing if not is_folder and name.lower().endswith(".md"))
    return FolderFact(
        path=path, real=real, files=files, folders=tuple(name for name, is_folder in listing if is_folder)
    )


def memory_place(
    *,
    cwd: str,
    home: str | None,
    config_home: str | None,
    managed: Sequence[str] = (),
    project_root: str | None = None,
    main_checkout: str | None = None,
    extra: Sequence[str] = (),
    sources: Sequence[str] = ("user", "project", "local"),
    excludes: Sequence[str] = (),
    approved: Sequence[str] = (),
    refused: Sequence[str] = (),
    reads_agents_md: bool = True,
    managed_texts: Sequence[tuple[str, str]] = (),
    folders: Sequence[MemoryFolder] = (),
    is_on: bool = True,
) -> MemoryPlace:
    """A place with the links of its folders resolved; every path given is absolute. A repository that holds the home folder is no project: `cwd` is."""
    real_cwd = os.path.realpath(cwd)
    root = os.path.realpath(project_root) if project_root else real_cwd
    if home and f"{os.path.realpath(home)}/".startswith(f"{root.rstrip('/')}/"):
        root = real_cwd
    return MemoryPlace(
        cwd=real_cwd,
        project_root=root,
        home=os.path.normpath(home) if home else None,
        config_home=os.path.normpath(config_home) if config_home else None,
        config_home_real=os.path.realpath(config_home) if config_home else None,
        managed=tuple(os.path.normpath(folder) for folder in managed),
        main_checkout=os.path.realpath(main_checkout) if main_checkout else None,
        extra=tuple(os.path.realpath(folder) for folder in extra),
        sources=tuple(sources),
        excludes=tuple(excludes),
        approved=tuple(os.path.realpath(path) for path in approved),
        refused=tuple(os.path.realpath(path) for path in refused),
        reads_agents_md=reads_agents_md,
        managed_texts=tuple(managed_texts),
        folders=tuple(msgspec.structs.replace(folder, path=os.path.realpath(folder.path)) for folder in folders),
        is_on=is_on,
    )


def _spelling(path: str, place: MemoryPlace) -> str:
    """One name for a file: the real one, unless links lead out of the directories of this session."""
    real = os.path.realpath(path)
    return real if any(is_inside(real, root) for root in (place.cwd, *place.extra)) else path


def _read_regular(real: str, limit: int) -> tuple[bytes | None, os.stat_result]:
    """Content (one byte more than `limit` at most) and status; no content when the file was exchanged for something else meanwhile."""
    handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        return (stream.read(limit + 1) if stat.S_ISREG(status.st_mode) else None), status


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _unreadable(path: str, problem: OSError | ValueError) -> FileFact:
    detail = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return FileFact(path=path, missing=Missing.UNREADABLE, detail=detail)
