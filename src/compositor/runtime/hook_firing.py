"""Fires one event of hooks: who hears it, all of them at once, and what they said as notes for the model and words for the person.

Decides the order: notes wait until the agent takes them to the tail, and what a hook says is data with its name on it (R377, R379). What an
answer means stands in `policy/hook_output.py`; the handlers run behind a port.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from msgspec import Struct

from compositor.policy.hook_handlers import Hook
from compositor.policy.hook_output import HookReport, read_report
from compositor.policy.hook_table import OUTPUT_CAP
from compositor.policy.hooks import HookPlan, chosen_hooks
from compositor.ports import HookRunner
from compositor.runtime.events import NotesCollected, Watcher
from compositor.types.attachments import TextAttachment
from compositor.types.diagnostics import Diagnostic
from compositor.types.tools import ToolCall

CONTEXT_KIND = "hook_additional_context"
"""The kind of the notes that carry what a hook said (R377)."""
_UNTOLD = frozenset({"UserPromptSubmit", "UserPromptExpansion", "PostToolBatch", "ConfigChange"})
"""Events whose block is told to the person, or ends the turn, and is no note for the model."""


class HookFacts(Struct, frozen=True, kw_only=True):
    """What every event tells beside its own fields. `cwd` and `mode` are those of the moment.

    `instructions` are the instruction files that the session begins with: path and level. `agent` is the type of a session that works for another.
    """

    session_id: str
    transcript_path: str
    cwd: Callable[[], str]
    mode: Callable[[], str]
    instructions: tuple[tuple[str, str], ...] = ()
    agent: str = ""


async def _nothing_changed() -> None:
    """Where nobody follows the settings."""


class Firing:
    """The hooks of one session and what they said. `applies` judges the `if` of a handler, a permission rule, against a call.

    `plan` may be replaced while the session runs; `renew` is awaited before an event is fired, so that it can be.
    """

    def __init__(
        self,
        plan: HookPlan,
        runner: HookRunner,
        facts: HookFacts,
        watch: Watcher,
        applies: Callable[[str, ToolCall], bool],
    ) -> None:
        self.plan = plan
        self.facts = facts
        self.renew: Callable[[], Awaitable[object]] = _nothing_changed
        self.stop: str | None = None
        self._runner = runner
        self._watch = watch
        self._applies = applies
        self._notes: list[TextAttachment] = []

    async def fire(self, event: str, fields: dict[str, Any], call: ToolCall | None = None) -> tuple[HookReport, ...]:
        """Run all hooks that hear the event, side by side; gives what each of them said."""
        if event != "ConfigChange":
            await self.renew()
        chosen = tuple(
            hook
            for hook in chosen_hooks(self.plan, event, {"agent_type": self.facts.agent, **fields})
            if hook.condition is None or (call and self._applies(hook.condition, call))
        )
        if not chosen:
            return ()
        cwd = self.facts.cwd()
        common = {
            "session_id": self.facts.session_id,
            "transcript_path": self.facts.transcript_path,
            "cwd": cwd,
            "permission_mode": self.facts.mode(),
            "hook_event_name": event,
        }
        if self.facts.agent:
            common |= {"agent_id": self.facts.session_id, "agent_type": self.facts.agent}
        payload = json.dumps({**common, **fields}, ensure_ascii=True).encode()
        for hook in (hook for hook in chosen if hook.background):
            self._runner.start(hook, payload, cwd)
        return await self._run_all(tuple(hook for hook in chosen if not hook.background), payload, cwd)

    async def tell(self, event: str, fields: dict[str, Any], call: ToolCall | None = None) -> str | None:
        """Fire the event and take in what was said; gives the first block."""
        return self.take_in(await self.fire(event, fields, call))

    def take_notes(self) -> tuple[TextAttachment, ...]:
        """What hooks said since the last call, those in the background included; each text once."""
        for hook, run in self._runner.finished():
            self.take_in([read_report(hook, run)])
        notes, self._notes = tuple(self._notes), []
        return notes

    def take_in(self, reports: Sequence[HookReport]) -> str | None:
        """Take in what the reports say; gives the first block."""
        blocked = None
        for report in reports:
            event, name = report.hook.event, report.hook.name
            if report.failure is not None:
                failed = f"The hook {name!r} of {event} gave no verdict: {report.failure}"
                self.say("hooks.failed", failed, report.hook.file)
            if report.message:
                self.say("hooks.message", f"{name}: {report.message}"[:OUTPUT_CAP], report.hook.file)
            if report.context:
                self._note(event, name, report.context)
            if report.blocked is not None:
                blocked = blocked or f"{name}: {report.blocked}"
                if event not in _UNTOLD:
                    self._note(event, name, report.blocked)
            if report.stop:
                self.stop = self.stop or f"{name}: {report.stop_reason or 'no reason given'}"
        return blocked

    def say(self, code: str, message: str, where: str) -> None:
        """Tell the person, never the model."""
        self._watch(NotesCollected((), (Diagnostic(code, message, where=where, step="hooks"),)))

    async def _run_all(self, hooks: tuple[Hook, ...], payload: bytes, cwd: str) -> tuple[HookReport, ...]:
        reports: dict[int, HookReport] = {}

        async def run(at: int, hook: Hook) -> None:
            reports[at] = read_report(hook, await self._runner.run(hook, payload, cwd))

        try:
            async with anyio.create_task_group() as tasks:
                for at, hook in enumerate(hooks):
                    tasks.start_soon(run, at, hook)
        except ExceptionGroup as group:
            # A fault of the runner itself, which no setting excuses: whoever fired hears of the fault and not of the group.
            raise group.exceptions[0] from None
        return tuple(reports[at] for at in range(len(hooks)))

    def _note(self, event: str, name: str, text: str) -> None:
        if len(text) > OUTPUT_CAP:
            text = self._runner.keep(text)
        # The name first: it is a hook that speaks, not the user and not the program (R379).
        self._notes.append(TextAttachment(kind=CONTEXT_KIND, text=f"{event} hook {name} says:\n{text}", name=event))
