"""Hooks that are functions of the program which started a run (`initialize.hooks`; asked with `hook_callback`).

Decides which handlers the program's description means. They are hooks like any other: what they answer is read by the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from compositor.config.layer import Level
from compositor.config.settings import Settings
from compositor.errors import UsageError
from compositor.policy.hook_handlers import Hook, HookKind
from compositor.policy.hook_output import Ended, HookRun
from compositor.policy.hook_table import EVENTS
from compositor.ports import HandlerWay

from .dialog import Dialog

WRITER = "the program that started the run"


def read_callbacks(given: object, settings: Settings) -> tuple[Hook, ...]:
    """The handlers of an `initialize` request. Raises `UsageError` for one that would never be asked: the program relies on it."""
    if not given:
        return ()
    if settings.values.get("allowManagedHooksOnly") is True or settings.values.get("disableAllHooks") is True:
        raise UsageError("settings turn hooks off, so those of the program would not be asked")
    if not isinstance(given, Mapping):
        raise UsageError("'hooks' is no object")
    try:
        return tuple(hook for event, groups in given.items() for hook in _of_event(str(event), groups))
    except (AttributeError, KeyError, TypeError) as problem:
        raise UsageError(f"'hooks' is not as the protocol has it: {problem}") from None


def calling(dialog: Dialog) -> HandlerWay:
    """The way to these handlers. One that gives no answer gives no verdict (R371)."""

    async def run(hook: Hook, payload: bytes) -> HookRun:
        fields = json.loads(payload)
        said = await dialog.ask(
            "hook_callback", callback_id=hook.callback, input=fields, tool_use_id=fields.get("tool_use_id")
        )
        return HookRun(ended=Ended.EXITED, stdout=json.dumps(dict(said)))

    return run


def _of_event(event: str, groups: Any) -> Iterator[Hook]:
    row = EVENTS.get(event)
    if row is None or not row.fired:
        raise UsageError(f"the event {event!r} is not fired, so its hooks would never be asked")
    for group in groups:
        seconds = group.get("timeout")
        for callback in group["hookCallbackIds"]:
            yield Hook(
                event=event,
                kind=HookKind.CALLBACK,
                level=Level.CLI,
                file=WRITER,
                matcher=group.get("matcher") or "",
                callback=str(callback),
                seconds=float(seconds) if isinstance(seconds, int | float) and seconds > 0 else row.seconds,
                guard=group.get("onFailure", "continue") != "continue",
            )
