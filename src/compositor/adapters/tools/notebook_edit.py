"""NotebookEdit: one cell of a notebook.

Decides which cell is meant and what becomes of the others: nothing. The rule to read first is the same as for Edit.
"""

from __future__ import annotations

import json
import secrets
from typing import Any, Literal

from anyio import to_thread
from msgspec import Struct

from compositor.adapters.files import FileBytes, FileProblem, digest_of, read_file, write_file
from compositor.context.freshness.file_table import FileTable, view_record
from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import display_call
from compositor.ports import ToolScope
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .edit import whole_view
from .paths import Target, find_target
from .results import Problem, done, failed, read_input


class NotebookInput(Struct, frozen=True, forbid_unknown_fields=True):
    notebook_path: str
    new_source: str
    cell_id: str | None = None
    cell_type: Literal["code", "markdown"] | None = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


class NotebookEditTool:
    definition: ToolDefinition = BUILTIN["NotebookEdit"]

    def __init__(self, table: FileTable) -> None:
        self._table = table

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        wanted = read_input(call, NotebookInput)
        target = wanted if isinstance(wanted, Problem) else find_target(wanted.notebook_path, scope)
        return () if isinstance(target, Problem) else target.touched

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        wanted = read_input(call, NotebookInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        target = find_target(wanted.notebook_path, scope)
        if isinstance(target, Problem):
            return failed(call, target.message)
        found = await to_thread.run_sync(read_file, target.real)
        if isinstance(found, FileProblem):
            return failed(call, found.message)
        refusal = self._table.refusal(target.real, found.digest)
        if refusal is not None:
            return failed(call, f"{target.path!r} cannot be edited: {refusal}.")
        changed = plan_cells(wanted, found.data)
        if isinstance(changed, Problem):
            return failed(call, changed.message)
        return await self._write(call, wanted, target, found, changed)

    async def _write(
        self, call: ToolCall, wanted: NotebookInput, target: Target, found: FileBytes, text: str
    ) -> ToolOutcome:
        data = text.encode()
        stamp = await to_thread.run_sync(write_file, target.real, data, found.stamp)
        if isinstance(stamp, FileProblem):
            return failed(call, f"{stamp.message}. The notebook is as it was.")
        view = self._table.saw(whole_view(target.real, digest_of(data), stamp, text))
        what = {"replace": "was changed", "insert": "was added", "delete": "was deleted"}[wanted.edit_mode]
        cell = "A cell" if wanted.edit_mode == "insert" else f"Cell {wanted.cell_id}"
        structured: dict[str, Any] = {
            "new_source": wanted.new_source,
            "cell_id": wanted.cell_id,
            "cell_type": wanted.cell_type,
            "edit_mode": wanted.edit_mode,
            "notebook_path": target.path,
            "view": view_record(view),
        }
        return done(
            call, f"{cell} of {target.path} {what}.", display=f"{display_call(call)}: {what}", structured=structured
        )


def plan_cells(wanted: NotebookInput, data: bytes) -> str | Problem:
    """The notebook's text with the one cell changed, in the form in which notebooks are written (indent 1, a line break at the end)."""
    try:
        notebook = json.loads(data)
    except ValueError:
        return Problem(f"{wanted.notebook_path!r} is no JSON and so no notebook.")
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return Problem(f"{wanted.notebook_path!r} has no list of cells.")
    place = _place(wanted.cell_id, cells)
    if isinstance(place, Problem):
        return place
    if wanted.edit_mode == "insert":
        if wanted.cell_type is None:
            return Problem("An insert needs the cell_type.")
        cells.insert(0 if place is None else place + 1, _new_cell(wanted, notebook))
    elif place is None:
        return Problem(f"A {wanted.edit_mode} needs the cell_id.")
    elif wanted.edit_mode == "delete":
        del cells[place]
    else:
        cells[place] = _replaced(wanted, cells[place])
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _place(cell_id: str | None, cells: list[Any]) -> int | Problem | None:
    """The index of a cell by its id, or by its number where it has none."""
    if cell_id is None:
        return None
    for index, cell in enumerate(cells):
        if isinstance(cell, dict) and cell.get("id") == cell_id:
            return index
    number = cell_id.removeprefix("cell-")
    if number.isdecimal() and int(number) < len(cells):
        return int(number)
    return Problem(f"There is no cell {cell_id!r}; the notebook has {len(cells)}.")


def _replaced(wanted: NotebookInput, cell: Any) -> dict[str, Any]:
    kept = dict(cell) if isinstance(cell, dict) else {}
    kind = wanted.cell_type or kept.get("cell_type", "code")
    changed = {**kept, "cell_type": kind, "source": _lines(wanted.new_source)}
    if kind == "code":
        return {**changed, "outputs": [], "execution_count": None}
    return {name: value for name, value in changed.items() if name not in {"outputs", "execution_count"}}


def _new_cell(wanted: NotebookInput, notebook: dict[str, Any]) -> dict[str, Any]:
    has_ids = (notebook.get("nbformat", 4), notebook.get("nbformat_minor", 5)) >= (4, 5)
    fresh: dict[str, Any] = {"id": secrets.token_hex(4)} if has_ids else {}
    return _replaced(wanted, {**fresh, "cell_type": wanted.cell_type, "metadata": {}})


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
