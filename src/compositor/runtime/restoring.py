"""Lets the owners hand over what stands, behind a summary that is there (R307, R313).

Decides nothing: eligibility, budgets and words stand in `context/compaction/restore.py`. An owner that fails costs only its part, and it is told (law 6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TypeVar

from msgspec import Struct

from compositor.context.attachments.restore import invoked_skills
from compositor.context.compaction.kept import Kept
from compositor.context.compaction.restore import (
    STEP,
    Exclusions,
    Restored,
    Room,
    choose_files,
    join_restored,
    open_todos,
    pinned_texts,
    restore_files,
    restore_pins,
    restore_plan,
    restore_skills,
    restore_tasks,
)
from compositor.ports import Owners
from compositor.types.provenance import Omission

T = TypeVar("T")


class Handed(Struct, frozen=True, kw_only=True):
    """What the owners handed over: the notes for the new tail, and the values behind them. `plan` is its path, empty for none."""

    restored: Restored
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    plan: str = ""
    tasks: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


async def restore_standing(
    owners: Owners, kept: Kept, seen: Mapping[str, str], room: Room, pins: tuple[str, ...] = ()
) -> Handed:
    """Files, skills, plan, tasks and pins, in this order; `pins` come to those of the conversation."""
    entries = (*kept.before, *kept.entries)
    failures: list[Omission] = []
    exclusions = Exclusions(
        visible=kept.visible(owners.cwd),
        instructions=frozenset(path for path, _ in owners.instructions()),
        denied=lambda path: not owners.may_read(path),
    )
    chosen, left_out = choose_files(seen, exclusions)
    contents = [(path, await _handed(owners.reread(path), None, f"file {path}", failures)) for path in chosen]
    plan_path, plan = await _handed(owners.plan(), ("", ""), "the plan", failures)
    tasks = (*await _handed(owners.tasks(), (), "the tasks", failures), *open_todos(entries))
    skills = invoked_skills(entries)
    pins = tuple(dict.fromkeys((*pinned_texts(kept.before), *pins)))
    restored = join_restored(
        Restored(omissions=left_out),
        restore_files(contents, room),
        restore_skills(skills, room),
        restore_plan(plan_path, plan),
        restore_tasks(tasks),
        restore_pins(pins),
        Restored(omissions=tuple(failures)),
    )
    for note in restored.notes:
        if note.kind == "file" and note.path is not None:
            owners.saw(note.path)
    return Handed(
        restored=restored,
        files=chosen,
        skills=tuple(skills),
        plan=plan_path if plan.strip() else "",
        tasks=tasks,
        pins=pins,
    )


async def _handed(handing: Awaitable[T], instead: T, what: str, failures: list[Omission]) -> T:
    try:
        return await handing
    except Exception as problem:  # noqa: BLE001 - the compaction goes on without this part (law 6)
        failures.append(Omission(what, f"its owner failed: {type(problem).__name__}: {problem}", STEP))
        return instead
