"""Write: a whole new content for a file.

Decides when a file may be replaced: when it does not exist, or was read completely and is unchanged.
"""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from msgspec import Struct, to_builtins

from compositor.adapters.files import FileBytes, FileProblem, digest_of, read_file, write_file
from compositor.context.freshness.file_table import FileTable, view_record
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.context.tools.patch import make_patch
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .edit import shown_original, whole_view
from .paths import Target, find_target
from .results import Problem, done, failed, read_input
from .text_files import decode_text


class WriteInput(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: str
    content: str


class WriteTool:
    definition: ToolDefinition = BUILTIN["Write"]

    def __init__(self, table: FileTable) -> None:
        self._table = table

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, WriteInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.file_path, scope)
        return () if isinstance(target, Problem) else target.touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, WriteInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        target = find_target(wanted.file_path, scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        old = await to_thread.run_sync(_read_old, target.real)
        if isinstance(old, FileProblem):
            return failed(call, f"{old.message}. Nothing was written.")
        refusal = None if old is None else self._table.refusal(target.real, old.digest)
        if refusal is not None:
            return failed(call, f"{target.path!r} exists and cannot be replaced: {refusal}.")
        data = wanted.content.encode()
        stamp = await to_thread.run_sync(write_file, target.real, data, None if old is None else old.stamp)
        if isinstance(stamp, FileProblem):
            return failed(call, f"{stamp.message}. Nothing was written.")
        view = self._table.saw(whole_view(target.real, digest_of(data), stamp, wanted.content))
        verb = "created" if old is None else "replaced"
        return done(
            call,
            f"{target.path} was {verb} ({counted(view.lines, 'line')}, {counted(len(data), 'byte')}).",
            display=f"{display_call(call)}: {verb}, {counted(view.lines, 'line')}",
            structured={**_structured(wanted, target, old), "view": view_record(view)},
        )


def _read_old(path: str) -> FileBytes | FileProblem | None:
    found = read_file(path)
    return None if isinstance(found, FileProblem) and found.is_missing else found


def _structured(wanted: WriteInput, target: Target, old: FileBytes | None) -> dict[str, Any]:
    before = None if old is None else decode_text(old.data)
    return {
        "type": "create" if old is None else "update",
        "filePath": target.path,
        "content": wanted.content,
        "structuredPatch": [] if before is None else to_builtins(make_patch(before.text, wanted.content)),
        "originalFile": None if before is None else shown_original(before.text),
    }
