"""Read: a file for the model, as text with line numbers or as what it is (image, PDF, notebook).

Decides limits and notices, and records what was seen. Never decides whether a file may be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from compositor.adapters.files import FileBytes, FileProblem, is_directory, read_file
from compositor.context.freshness.file_table import FileTable, FileView, view_record
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import display_call
from compositor.ports import ToolScope
from compositor.types.json import repair_text
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .images import is_image, read_image
from .media import Media
from .notebooks import read_notebook
from .paths import Target, find_target, show_path
from .pdfs import is_pdf, read_pdf
from .results import Problem, done, failed, read_input
from .text_files import TextFile, decode_text

PAGE_LINES = 2_000
"""Lines of one read when no limit is given."""

LINE_CHARACTERS = 2_000
"""A longer line is cut, with a notice in its place."""

PAGE_CHARACTERS = 100_000
"""Text of one read, line numbers included: about 25,000 tokens."""

# Decoding an image or a PDF runs in a thread that nobody can stop; the call ends all the same.
_DECODE_SECONDS = 60.0


class ReadInput(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: str
    offset: int | None = None
    limit: int | None = None
    pages: str | None = None

    @property
    def is_whole_file(self) -> bool:
        """Nobody asked for a part."""
        return self.offset is None and self.limit is None


class Page(Struct, frozen=True, kw_only=True):
    """Numbered lines `first` to `last` of `total`; `is_cut` when the limits ended it."""

    text: str
    first: int
    last: int
    total: int
    is_cut: bool


class ReadTool:
    definition: ToolDefinition = BUILTIN["Read"]

    def __init__(self, table: FileTable) -> None:
        self._table = table

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, ReadInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.file_path, scope)
        return () if isinstance(target, Problem) else target.touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, ReadInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        if (wanted.offset is not None and wanted.offset < 1) or (wanted.limit is not None and wanted.limit < 1):
            return failed(call, "offset and limit count from 1.")
        target = find_target(wanted.file_path, scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        found = await to_thread.run_sync(read_file, target.real)
        if isinstance(found, FileProblem):
            return failed(call, await to_thread.run_sync(_explain, found, target, scope))
        if is_pdf(found.data) or is_image(found.data) or (found.path.endswith(".ipynb") and wanted.is_whole_file):
            return await self._read_media(call, wanted, target, found)
        if wanted.pages is not None:
            return failed(call, f"pages is for PDF files, and {target.path!r} is none. Use offset and limit.")
        return self._read_text(call, wanted, target, found)

    def _read_text(self, call: ToolCall, wanted: ReadInput, target: Target, found: FileBytes) -> ToolOutcome:
        file = decode_text(found.data)
        if file is None:
            return failed(call, f"{target.path!r} is a binary file of {len(found.data):,} bytes and cannot be shown.")
        page = cut_page(file.lines, wanted)
        if isinstance(page, Problem):
            return failed(call, page.message)
        if self._is_shown(target.real, found.digest, page):
            return self._unchanged(call, target, page)
        known = self._table.saw(_view(target, found, page, file))
        return done(
            call,
            _with_notice(page, wanted),
            display=f"{display_call(call)}: {_lines_shown(page)}",
            structured=_structured(target, file, page, known),
        )

    def _is_shown(self, path: str, digest: str, page: Page) -> bool:
        """Whether the same lines, as they are now, still stand before the model as the result of a read (R290)."""
        known = self._table.view(path)
        return known is not None and known.is_shown and known.digest == digest and known.covers(page.first, page.last)

    def _unchanged(self, call: ToolCall, target: Target, page: Page) -> ToolOutcome:
        """A short answer instead of the same lines, once: whoever asks again gets them."""
        known = self._table.view(target.real)
        if known is not None:
            self._table.saw(replace(known, is_shown=False))
        lines = _lines_shown(page)
        text = f"[{target.path} is unchanged since you read it; its {lines} stand in this conversation. Read again to see them once more.]"
        return done(
            call, text, display=f"{display_call(call)}: unchanged, {lines}", structured={"type": "file_unchanged"}
        )

    async def _read_media(self, call: ToolCall, wanted: ReadInput, target: Target, found: FileBytes) -> ToolOutcome:
        media: Media | Problem = Problem(f"{target.path!r} could not be decoded within {_DECODE_SECONDS:g} s.")
        with anyio.move_on_after(_DECODE_SECONDS):
            media = await to_thread.run_sync(_decode, found, wanted.pages, abandon_on_cancel=True)
        if isinstance(media, Problem):
            return failed(
                call, f"{target.path!r}: {media.message}" if target.path not in media.message else media.message
            )
        if is_image(found.data):
            self._table.saw(
                FileView(
                    path=target.real,
                    digest=found.digest,
                    mtime_ns=found.stamp.mtime_ns,
                    size=found.stamp.size,
                    inode=found.stamp.inode,
                    lines=0,
                    is_media=True,
                )
            )
        structured = {**media.structured, "file": {"filePath": target.path, **media.structured.get("file", {})}}
        return done(call, media.content, display=f"{display_call(call)}: {media.summary}", structured=structured)


def cut_page(lines: Sequence[str], wanted: ReadInput) -> Page | Problem:
    """The lines that are shown. Without a limit the page ends where the limits say; a range that overflows is a problem."""
    total = len(lines)
    first = wanted.offset or 1
    stop = min(total, first - 1 + (wanted.limit or PAGE_LINES))
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : stop], first):
        text = f"{number:6d}\t{_cut_line(line)}"
        size += len(text) + 1
        if size > PAGE_CHARACTERS and wanted.limit is not None:
            return Problem(
                f"Lines {first}-{stop} are more than {PAGE_CHARACTERS:,} characters. Ask for fewer: the limit is reached "
                f"at line {number}."
            )
        if size > PAGE_CHARACTERS:
            break
        shown.append(text)
    last = first - 1 + len(shown)
    is_cut = wanted.limit is None and last < total and first <= total
    return Page(text=repair_text("\n".join(shown)), first=first, last=last, total=total, is_cut=is_cut)


def _decode(found: FileBytes, pages: str | None) -> Media | Problem:
    if is_pdf(found.data):
        return read_pdf(found.data, pages)
    if pages is not None:
        return Problem("pages is for PDF files, and this is none.")
    return read_image(found.data) if is_image(found.data) else read_notebook(found.data)


def _view(target: Target, found: FileBytes, page: Page, file: TextFile) -> FileView:
    return FileView(
        path=target.real,
        digest=found.digest,
        mtime_ns=found.stamp.mtime_ns,
        size=found.stamp.size,
        inode=found.stamp.inode,
        lines=page.total,
        seen=((page.first, page.last),) if page.last >= page.first else (),
        text=file.text,
        is_shown=True,
    )


def _cut_line(line: str) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]} [line cut: {len(line) - LINE_CHARACTERS:,} more characters]"


def _with_notice(page: Page, wanted: ReadInput) -> str:
    if page.total == 0:
        return "[The file exists but is empty.]"
    if page.first > page.total:
        return f"[The file has only {page.total:,} lines; offset {page.first:,} is past its end.]"
    if not page.is_cut:
        return page.text
    how = "PARTIAL view" if wanted.is_whole_file else "Cut"
    return f"{page.text}\n[{how}: lines {page.first}-{page.last} of {page.total}. Go on with offset={page.last + 1}.]"


def _lines_shown(page: Page) -> str:
    if page.last < page.first:
        return "empty" if page.total == 0 else "past the end"
    return f"lines {page.first}-{page.last} of {page.total}"


def _structured(target: Target, file: TextFile, page: Page, view: FileView) -> dict[str, Any]:
    content = "\n".join(file.lines[page.first - 1 : page.last])
    return {
        "type": "text",
        "file": {
            "filePath": target.path,
            "content": content if len(content) <= PAGE_CHARACTERS else None,
            "numLines": max(0, page.last - page.first + 1),
            "startLine": page.first,
            "totalLines": page.total,
        },
        "view": view_record(view),
    }


def _explain(problem: FileProblem, target: Target, scope: ToolScope) -> str:
    """A failure with what helps: how to list a folder, or names close to the one that is missing."""
    if is_directory(target.real):
        return f"{target.path!r} is a directory. List it with Glob, or with ls in Bash."
    if not problem.is_missing:
        return f"{problem.message}."
    path = Path(target.path)
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return f"{problem.message}."
    close = get_close_matches(path.name, names, n=3, cutoff=0.7)
    hint = f" Did you mean {' or '.join(show_path(str(path.parent / name), scope) for name in close)}?" if close else ""
    return f"{problem.message}.{hint}"
