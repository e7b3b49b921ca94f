"""Reads instruction files and notes while a session runs, and hands over what the model was not told yet.

Performs the reading and keeps the table of files seen up to date. What is due, and in which words, is decided in `context/memory` and
`loop/news`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.memory_files import load_memory, load_nested, load_notes
from compositor.adapters.tools.text_files import decode_text
from compositor.context.freshness.file_table import FileView, Ranges, merge_ranges
from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.facts import MemoryPlace
from compositor.context.memory.news import nested_notes, told_paths
from compositor.context.memory.relevance import ChosenNote, select_notes
from compositor.context.prompt.user_context import plan_user_context, render_user_context
from compositor.loop.news import head_changes, news_notes
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment
from compositor.types.diagnostics import Diagnostic
from compositor.types.memory import MemoryFile
from compositor.types.request import HeadParts


class Look(Struct, frozen=True, kw_only=True):
    """One look at the files: the chain now, and what is due."""

    chain: MemoryChain
    attachments: tuple[TextAttachment, ...]
    diagnostics: tuple[Diagnostic, ...]
    views: tuple[FileView, ...]


class MemoryCollector:
    """`start` is the chain that the head was made of; `seed` takes the views of the files that are told (R120, R123)."""

    def __init__(self, place: MemoryPlace, start: MemoryChain, seed: Callable[[Iterable[FileView]], None]) -> None:
        self._place = place
        self._chain = start
        self._seed = seed
        self._remarks: set[Diagnostic] = set(start.diagnostics)

    async def collect(self, moment: Moment) -> Collected:
        """What is due at this moment. Dropping the result loses nothing: the next look finds it again."""
        look = await to_thread.run_sync(self.look, moment, abandon_on_cancel=True)
        self._chain = look.chain
        self._seed(look.views)
        new = tuple(note for note in look.diagnostics if note not in self._remarks)
        self._remarks.update(new)
        return Collected(attachments=look.attachments, diagnostics=new)

    def look(self, moment: Moment) -> Look:
        """What `collect` hands over, in the calling thread; changes nothing."""
        chain = load_memory(self._place)
        # What this batch itself read or wrote, the model knows as it is now.
        own = {os.path.realpath(path) for path in moment.reached}
        changes = head_changes(_parts(self._chain), _parts(chain))
        updates = [note for note in news_notes(changes, moment.told) if os.path.realpath(note.path or "") not in own]
        nested = load_nested(self._place, chain, moment.reached, told_paths(moment.told))
        entering = nested_notes(nested.files, moment.told)
        # Where the project lies says nothing about the work.
        touched = (path.removeprefix(f"{self._place.cwd}/") for path in moment.reached)
        chosen = select_notes(load_notes(self._place), " ".join((moment.prompt, *touched)), moment.told)
        told = {note.path for note in (*updates, *entering)}
        return Look(
            chain=chain,
            attachments=(*updates, *entering, *(one.attachment for one in chosen)),
            diagnostics=(*chain.diagnostics, *nested.diagnostics),
            views=(*file_views(chain, told), *file_views(nested, told), *map(_note_view, chosen)),
        )


def file_views(chain: MemoryChain, names: Collection[str | None] | None = None) -> Iterator[FileView]:
    """The files of a chain as files that the model has seen: the lines that reached it, comments and front matter not among them.

    `names` are the paths of those that are wanted, all without it.
    """
    for loaded in chain.files:
        # A text that stands in a setting is no file.
        if loaded.modified and (names is None or loaded.file.path in names):
            shown = ((piece.line, piece.line + piece.text.rstrip("\n").count("\n")) for piece in loaded.pieces)
            yield _view(loaded.real, loaded.data, loaded.modified, tuple(shown))
    for index in chain.indexes:
        if index.file is not None and index.cut is not None and (names is None or index.file.path in names):
            yield _view(index.real, index.data, index.modified, _first_lines(index.file, index.cut.lines))


def _note_view(chosen: ChosenNote) -> FileView:
    note = chosen.note
    return _view(note.real, note.data, note.modified, _first_lines(note.file, chosen.lines))


def _first_lines(file: MemoryFile, lines: int) -> Ranges:
    return ((file.first_line, file.first_line + lines - 1),)


def _view(path: str, data: bytes, modified: int, shown: Ranges) -> FileView:
    text = decode_text(data)
    return FileView(
        path=path,
        digest=hashlib.sha256(data).hexdigest(),
        mtime_ns=modified,
        lines=0 if text is None else len(text.lines),
        seen=merge_ranges(shown),
        from_context=True,
    )


def _parts(chain: MemoryChain) -> HeadParts:
    return HeadParts(context=render_user_context(plan_user_context(chain)))
