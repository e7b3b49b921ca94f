"""What a call would change, before it is allowed: the difference that a person is asked about.

Decides nothing and writes nothing. Where it cannot be told, the question goes without it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from compositor.adapters.files import FileBytes, read_file
from compositor.adapters.tools.edit import EditInput, plan_edit
from compositor.adapters.tools.paths import find_target
from compositor.adapters.tools.results import Problem, read_input
from compositor.adapters.tools.text_files import decode_text
from compositor.adapters.tools.write import WriteInput
from compositor.context.tools.patch import make_patch
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall


def proposed_change(call: ToolCall, cwd: str) -> list[dict[str, Any]]:
    """The hunks that an edit or a write would make of the file as it is now; none for every other call."""
    match call.name:
        case "Edit":
            return _edit(read_input(call, EditInput), cwd)
        case "Write":
            return _write(read_input(call, WriteInput), cwd)
        case _:
            return []


def _edit(wanted: EditInput | Problem, cwd: str) -> list[dict[str, Any]]:
    found = None if isinstance(wanted, Problem) else _read(wanted.file_path, cwd)
    if isinstance(wanted, Problem) or found is None:
        return []
    change = plan_edit(wanted, found)
    return [] if isinstance(change, Problem) else _hunks(change.before.text, change.after)


def _write(wanted: WriteInput | Problem, cwd: str) -> list[dict[str, Any]]:
    if isinstance(wanted, Problem):
        return []
    found = _read(wanted.file_path, cwd)
    before = None if found is None else decode_text(found.data)
    return _hunks("" if before is None else before.text, wanted.content)


def _read(path: str, cwd: str) -> FileBytes | None:
    target = find_target(path, ToolScope(cwd=cwd, roots=(cwd,), output_dir=cwd, env={}))
    found = None if isinstance(target, Problem) else read_file(target.real)
    return found if isinstance(found, FileBytes) else None


def _hunks(before: str, after: str) -> list[dict[str, Any]]:
    return list(msgspec.to_builtins(make_patch(before, after)))
