"""Edit: replace text in a file that the model has read.

Decides what counts as a match and how line ends are treated. The rule "only what was read" is the file table's.
"""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from msgspec import Struct, to_builtins

from compositor.adapters.files import FileBytes, FileProblem, FileStamp, digest_of, read_file, write_file
from compositor.context.freshness.file_table import FileTable, FileView, view_record
from compositor.context.prompt.envelope import restore_text
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import display_call
from compositor.context.tools.patch import make_patch
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .paths import Target, find_target
from .results import Problem, done, failed, read_input
from .text_files import TextFile, decode_text, encode_text, to_crlf, to_lf

ORIGINAL_CHARACTERS = 100_000
"""An original longer than this is left out of the structured result."""


class EditInput(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class Change(Struct, frozen=True):
    """An edit that can be made: the text before and after, and the lines at which it takes place."""

    before: TextFile
    after: str
    lines: tuple[int, ...]


class EditTool:
    definition: ToolDefinition = BUILTIN["Edit"]

    def __init__(self, table: FileTable) -> None:
        self._table = table

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, EditInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.file_path, scope)
        return () if isinstance(target, Problem) else target.touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, EditInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        target = find_target(wanted.file_path, scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        found = await to_thread.run_sync(read_file, target.real)
        if isinstance(found, FileProblem):
            return failed(call, f"{found.message}. To create a file, use Write.")
        refusal = self._table.refusal(target.real, found.digest)
        if refusal is not None:
            return failed(call, f"{target.path!r} cannot be edited: {refusal}.")
        change = plan_edit(wanted, found)
        if isinstance(change, Problem):
            return failed(call, change.message)
        return await self._write(call, wanted, target, found, change)

    async def _write(
        self, call: ToolCall, wanted: EditInput, target: Target, found: FileBytes, change: Change
    ) -> ToolOutcome:
        data = encode_text(change.after, like=change.before)
        if data is None:
            encoding = change.before.encoding
            return failed(call, f"{target.path!r} is in {encoding}, which cannot hold all characters of new_string.")
        stamp = await to_thread.run_sync(write_file, target.real, data, found.stamp)
        if isinstance(stamp, FileProblem):
            return failed(call, f"{stamp.message}. The file is as it was.")
        view = self._table.saw(whole_view(target.real, digest_of(data), stamp, change.after))
        return done(
            call,
            f"{target.path} was edited: {_places(change.lines)}.",
            display=f"{display_call(call)}: {_places(change.lines)}",
            structured=_structured(wanted, target, change, view),
        )


def plan_edit(wanted: EditInput, found: FileBytes) -> Change | Problem:
    """The new text, or why there is none. A match must be exact; only the form of line ends follows the file."""
    before = decode_text(found.data)
    if before is None:
        return Problem(f"{wanted.file_path!r} is a binary file and cannot be edited as text.")
    if not wanted.old_string:
        return Problem("old_string is empty. To write a whole file, use Write.")
    old, new = to_lf(wanted.old_string), to_lf(wanted.new_string)
    if old == new:
        return Problem("old_string and new_string are equal; there is nothing to change.")
    unix, windows = _occurrences(before.text, old)
    if not unix and not windows:
        # The model was shown look-alikes of the client's tag defused; the file has them as they are.
        old, new = restore_text(old), restore_text(new)
        unix, windows = _occurrences(before.text, old)
    if unix and windows:
        return Problem(
            f"old_string occurs in {wanted.file_path!r} with different line ends. Take lines that occur with one form only."
        )
    if windows or ("\n" not in old and before.uses_crlf):
        old, new = to_crlf(old), to_crlf(new)
    count = unix + windows
    if count == 0:
        return Problem(
            f"old_string does not occur in {wanted.file_path!r}. It must match exactly, blanks and line breaks included."
        )
    if count > 1 and not wanted.replace_all:
        return Problem(
            f"old_string occurs {count} times in {wanted.file_path!r}. Add neighboring lines to make it unique, or set "
            "replace_all."
        )
    return Change(before, before.text.replace(old, new), _line_numbers(before.text, old))


def whole_view(path: str, digest: str, stamp: FileStamp, text: str) -> FileView:
    """The view after a write: the model knows all that it wrote (R292, R296)."""
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    return FileView(
        path=path,
        digest=digest,
        mtime_ns=stamp.mtime_ns,
        size=stamp.size,
        inode=stamp.inode,
        lines=lines,
        seen=((1, lines),) if lines else (),
        text=text,
    )


def shown_original(text: str) -> str | None:
    """The original for the structured result, unless it is very long."""
    return text if len(text) <= ORIGINAL_CHARACTERS else None


def _structured(wanted: EditInput, target: Target, change: Change, view: FileView) -> dict[str, Any]:
    return {
        "filePath": target.path,
        "oldString": wanted.old_string,
        "newString": wanted.new_string,
        "originalFile": shown_original(change.before.text),
        "structuredPatch": to_builtins(make_patch(change.before.text, change.after)),
        "userModified": False,
        "replaceAll": wanted.replace_all,
        "view": view_record(view),
    }


def _occurrences(text: str, old: str) -> tuple[int, int]:
    """How often `old` stands in `text` with LF line ends as given, and with CRLF instead."""
    if "\n" not in old:
        return text.count(old), 0
    # A leading line break alone would also be found as the second half of a CRLF.
    halves = text.count("\r" + old) if old.startswith("\n") else 0
    return text.count(old) - halves, text.count(to_crlf(old))


def _line_numbers(text: str, part: str) -> tuple[int, ...]:
    numbers: list[int] = []
    line, position = 1, 0
    while (found := text.find(part, position)) != -1:
        line += text.count("\n", position, found)
        numbers.append(line)
        line += part.count("\n")
        position = found + len(part)
    return tuple(numbers)


def _places(lines: tuple[int, ...]) -> str:
    if len(lines) == 1:
        return f"1 replacement at line {lines[0]}"
    shown = ", ".join(map(str, lines[:10]))
    return f"{len(lines)} replacements at lines {shown}{', …' if len(lines) > 10 else ''}"
