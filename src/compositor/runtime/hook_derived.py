"""Events that stand for what a call would do: a task that is made or finished, a worktree that is made or removed (project-conventions 4.2).

Decides which call means which event and its input. They are fired with the hooks before the call, so that a block refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import structs

from compositor.policy.hook_output import HookReport

Derived: TypeAlias = tuple[str, dict[str, Any]]


def derived_event(tool: str, given: Mapping[str, Any]) -> Derived | None:
    """The event that a call of a built-in tool stands for, with its input; `None` for most."""
    make = _EVENTS.get(tool)
    return None if make is None else make(given)


def as_refusals(event: str, reports: Sequence[HookReport]) -> list[HookReport]:
    """The reports as answers on the call: a block refuses it, and a worktree is not made when any of its hooks fails."""
    refusals = []
    for report in reports:
        reason = report.blocked
        if reason is None and event == "WorktreeCreate":
            reason = report.failure
        refusals.append(
            report if reason is None else structs.replace(report, decision="deny", reason=reason, failure=None)
        )
    return refusals


def _task_created(given: Mapping[str, Any]) -> Derived | None:
    fields = {"task_id": "", "task_subject": str(given.get("subject", ""))}
    return "TaskCreated", {**fields, "task_description": str(given.get("description", ""))}


def _task_completed(given: Mapping[str, Any]) -> Derived | None:
    if given.get("status") != "completed":
        return None
    return "TaskCompleted", {"task_id": str(given.get("taskId", "")), "task_subject": str(given.get("subject", ""))}


def _worktree_created(given: Mapping[str, Any]) -> Derived | None:
    return "WorktreeCreate", {"name": str(given.get("name") or "")}


def _worktree_removed(given: Mapping[str, Any]) -> Derived | None:
    return ("WorktreeRemove", {"worktree_path": ""}) if given.get("action") == "remove" else None


_EVENTS: Mapping[str, Callable[[Mapping[str, Any]], Derived | None]] = {
    "TaskCreate": _task_created,
    "TaskUpdate": _task_completed,
    "EnterWorktree": _worktree_created,
    "ExitWorktree": _worktree_removed,
}
