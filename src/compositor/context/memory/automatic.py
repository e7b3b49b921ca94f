"""Folders of notes: automatic memory, the memory of a team and of an agent (R144, R145, R420).

Decides what of them a session opens with (the index, cut), which files are notes, and what the model is told about keeping them. A note is
no instruction file: it imports nothing. Never reads a folder.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from posixpath import join
from typing import TypeAlias

from msgspec import Struct

from compositor.types.diagnostics import Diagnostic
from compositor.types.memory import MemoryFile, MemoryLevel

from .cut import Cut, cut_index
from .facts import INDEX_NAME, Fact, FileFact, FolderFact, MemoryFolder, Need
from .imports import by_bytes, is_inside
from .left_out import STEP
from .one_line import one_line
from .parse import ParsedMemory, parse_memory

MAX_NOTES = 200
"""Notes of one folder that are looked at; the first by path."""


class MemoryIndex(Struct, frozen=True, kw_only=True):
    """What a session opens with of one folder: its index as the model reads it, `None` where there is none yet.

    `data`, `real` and `modified` are what a later look is compared with. `cut` says how much of it is kept.
    """

    folder: MemoryFolder
    file: MemoryFile | None = None
    cut: Cut | None = None
    real: str = ""
    data: bytes = b""
    modified: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()


class Note(Struct, frozen=True, kw_only=True):
    """One note, whole: its cut depends on the room there is. `name` is its path in the folder, the part that people choose with care."""

    file: MemoryFile
    name: str
    real: str
    data: bytes
    modified: int


NotesFlow: TypeAlias = Generator[Need, Sequence[Fact], tuple[Note, ...]]
IndexFlow: TypeAlias = Generator[Need, Sequence[Fact], tuple[MemoryIndex, ...]]


def index_flow(folders: Sequence[MemoryFolder]) -> IndexFlow:
    """The indexes of the folders, in their order. A folder that is neither there nor kept has none."""
    if not folders:
        return ()
    facts = yield Need(files=tuple(folder.index for folder in folders))
    by_path = {fact.path: fact for fact in facts if isinstance(fact, FileFact)}
    found = (_index(folder, by_path[folder.index]) for folder in folders)
    return tuple(index for index in found if index.file is not None or index.folder.is_kept or index.diagnostics)


def notes_flow(folders: Sequence[MemoryFolder]) -> NotesFlow:
    """All notes of the folders, by folder and path. What a link leads to outside its folder is none (R138)."""
    notes: list[Note] = []
    for folder in folders:
        listed = yield from _listing(folder)
        if listed:
            facts = yield Need(files=listed)
            ordered = sorted((fact for fact in facts if isinstance(fact, FileFact)), key=lambda fact: fact.path)
            notes.extend(note for fact in ordered if (note := _note(folder, fact)) is not None)
    return tuple(notes)


def agent_folder(scope: str, name: str, *, cwd: str, config_home: str) -> MemoryFolder | None:
    """Where the agent `name` keeps notes: `scope` is user, project or local (project-conventions 6.5); `None` for another word."""
    roots = {
        "user": join(config_home, "agent-memory"),
        "project": join(cwd, ".claude", "agent-memory"),
        "local": join(cwd, ".claude", "agent-memory-local"),
    }
    if scope not in roots or not name or "/" in name or name.startswith("."):
        return None
    return MemoryFolder(path=join(roots[scope], name), level=MemoryLevel.AGENT, is_kept=True)


def keeping_rules(folder: MemoryFolder) -> str:
    """What the model is told about keeping notes in a folder."""
    return (
        f"You may keep notes for later sessions in {one_line(folder.path)}. Write a note when you learn something that holds beyond this "
        "task and cannot be read from the project itself: who the user is and how they want work done (type user or feedback), "
        "what is going on in the project (type project), where things are to be found (type reference). One subject a file, "
        "with front matter `name`, `description` and `type`, and for each file one line in the index "
        f"{INDEX_NAME}. Before you write, look whether a note on the subject exists, and mend that one; delete what turned out wrong. "
        "Keep no secrets, nothing that only this task needs, and nothing that instruction files already say. The index is loaded "
        "when a session starts, up to 200 lines or 25 KB: keep its lines short. A note says what was true when it was "
        "written: check what it names before you rely on it."
    )


def _index(folder: MemoryFolder, fact: FileFact) -> MemoryIndex:
    if fact.data is None:
        return MemoryIndex(folder=folder)
    if not is_inside(fact.real or fact.path, folder.path):
        return MemoryIndex(folder=folder, diagnostics=(_leads_out(fact),))
    content = parse_memory(fact.path, fact.data)
    if not content.pieces:
        return MemoryIndex(folder=folder, diagnostics=content.diagnostics)
    cut = cut_index(content.text, one_line(fact.path))
    notes = [*content.diagnostics]
    if cut.missing:
        message = f"The index is cut: {cut.missing:,} bytes of it are not loaded (200 lines or 25 KB are)."
        notes.append(Diagnostic("memory.cut", message, one_line(fact.path), step=STEP))
    return MemoryIndex(
        folder=folder,
        file=_file(folder, fact, content, cut.text),
        cut=cut,
        real=fact.real or fact.path,
        data=fact.data,
        modified=fact.modified,
        diagnostics=tuple(notes),
    )


def _listing(folder: MemoryFolder) -> Generator[Need, Sequence[Fact], tuple[str, ...]]:
    """The note files below a folder, by the bytes of their paths; links to other folders are not followed."""
    paths: list[str] = []
    waiting = [folder.path]
    while waiting and len(paths) < MAX_NOTES:
        facts = yield Need(folders=tuple(waiting))
        waiting = []
        for fact in facts:
            if isinstance(fact, FolderFact) and fact.real == fact.path:
                paths += [join(fact.path, name) for name in fact.files if join(fact.path, name) != folder.index]
                waiting += [join(fact.path, name) for name in fact.folders]
    return tuple(by_bytes(paths)[:MAX_NOTES])


def _note(folder: MemoryFolder, fact: FileFact) -> Note | None:
    if fact.data is None or not is_inside(fact.real or fact.path, folder.path):
        return None
    content = parse_memory(fact.path, fact.data)
    if not content.pieces:
        return None
    return Note(
        file=_file(folder, fact, content, content.text),
        name=fact.path.removeprefix(f"{folder.path}/"),
        real=fact.real or fact.path,
        data=fact.data,
        modified=fact.modified,
    )


def _file(folder: MemoryFolder, fact: FileFact, content: ParsedMemory, text: str) -> MemoryFile:
    first = content.pieces[0].line
    return MemoryFile(path=one_line(fact.path), level=folder.level, text=text, first_line=first)


def _leads_out(fact: FileFact) -> Diagnostic:
    message = f"The link leads to {one_line(fact.real or '')!r}, outside its folder of notes, and is not followed."
    return Diagnostic("memory.link-outside", message, one_line(fact.path), step=STEP)
