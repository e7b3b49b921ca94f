"""Fires the events of hooks: who hears one, all of them at once, and what they said as notes for the model (R373 to R379).

Decides the order: notes wait until the agent takes them to the tail, what a hook says is data with its name on it, and a post-hook
undoes nothing. What an answer means stands in `policy/hook_output.py`; the handlers run behind a port.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from compositor.policy.gate import HookAnswer
from compositor.policy.hook_output import HookReport, plan_answer, read_report
from compositor.policy.hook_table import OUTPUT_CAP, STOP_CAP
from compositor.policy.hooks import Hook, HookPlan, chosen_hooks
from compositor.ports import HookRunner
from compositor.runtime.events import NotesCollected, Watcher
from compositor.types.attachments import TextAttachment
from compositor.types.diagnostics import Diagnostic
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

CONTEXT_KIND = "hook_additional_context"
"""The kind of the notes that carry what a hook said (R377)."""


class HookFacts(Struct, frozen=True, kw_only=True):
    """What every event tells beside its own fields. `cwd` and `mode` are those of the moment."""

    session_id: str
    transcript_path: str
    cwd: Callable[[], str]
    mode: Callable[[], str]


class Hooks:
    """The hooks of one session. `applies` judges the `if` of a handler, a permission rule, against a call."""

    def __init__(
        self,
        plan: HookPlan,
        runner: HookRunner,
        facts: HookFacts,
        watch: Watcher,
        *,
        interactive: bool = False,
        applies: Callable[[str, ToolCall], bool] = lambda _rule, _call: True,
    ) -> None:
        self._plan = plan
        self._runner = runner
        self._facts = facts
        self._watch = watch
        self._interactive = interactive
        self._applies = applies
        self._notes: list[TextAttachment] = []
        self._stops = 0
        self._stop: str | None = None

    def take_notes(self) -> tuple[TextAttachment, ...]:
        """What hooks said since the last call, those in the background included; each text once."""
        for hook, run in self._runner.finished():
            self._tell([read_report(hook, run)])
        notes, self._notes = tuple(self._notes), []
        return notes

    @property
    def is_stopped(self) -> bool:
        return self._stop is not None

    def take_stop(self) -> str | None:
        """Why a hook ends the turn, once."""
        stop, self._stop = self._stop, None
        return stop

    async def before_call(self, call: ToolCall) -> HookAnswer:
        """The joined answer of all hooks on a call about to be judged; they run side by side on the same input."""
        reports = await self._fire("PreToolUse", _call_fields(call), call)
        return plan_answer(reports, self._plan.on_failure, interactive=self._interactive)

    async def after_call(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """What is done stays done (R367): hooks can only tell the model something, or end the turn."""
        if outcome.kind is OutcomeKind.DONE:
            answer = outcome.structured if outcome.structured is not None else msgspec.json.encode(_plain(outcome))
            fields = {**_call_fields(call), "tool_response": json.loads(bytes(answer))}
            self._tell(await self._fire("PostToolUse", fields, call))
        elif outcome.kind in {OutcomeKind.FAILED, OutcomeKind.INTERRUPTED}:
            fields = {
                **_call_fields(call),
                "error": _plain(outcome),
                "is_interrupt": outcome.kind is OutcomeKind.INTERRUPTED,
            }
            self._tell(await self._fire("PostToolUseFailure", fields, call))

    async def after_batch(self, calls: Sequence[ToolCall], outcomes: Sequence[ToolOutcome]) -> None:
        done = [
            {**_call_fields(call), "tool_response": _plain(outcome)}
            for call, outcome in zip(calls, outcomes, strict=True)
        ]
        self._stop = self._tell(await self._fire("PostToolBatch", {"tool_calls": done})) or self._stop

    async def on_start(self, source: str, model: str) -> None:
        self._tell(await self._fire("SessionStart", {"source": source, "model": model}))

    async def on_prompt(self, prompt: str) -> str | None:
        """The reason of a block, which keeps the submission from the model altogether (R375)."""
        return self._tell(await self._fire("UserPromptSubmit", {"prompt": prompt}))

    async def on_stop(self, text: str) -> str | None:
        """Why the model should go on, `None` when it may stop. After eight in a row the turn ends all the same."""
        fields = {"stop_hook_active": self._stops > 0, "last_assistant_message": text}
        blocked = self._tell(await self._fire("Stop", fields))
        self._stops = self._stops + 1 if blocked else 0
        if self._stops > STOP_CAP:
            self._say("hooks.stop-cap", f"Stop hooks blocked {STOP_CAP} times in a row; the turn ends all the same", "")
            self._stops = 0
            return None
        return None if self._stop else blocked

    async def on_compact(self, trigger: str, focus: str) -> str | None:
        """Why the conversation may not be compacted, `None` when it may."""
        fields = {"trigger": "manual" if trigger == "manual" else "auto", "custom_instructions": focus or None}
        return self._tell(await self._fire("PreCompact", fields))

    async def on_compacted(self, trigger: str, summary: str) -> None:
        """What such a hook says goes to the person and never to the model (R323)."""
        fields = {"trigger": "manual" if trigger == "manual" else "auto", "compact_summary": summary}
        for report in await self._fire("PostCompact", fields):
            for text in (report.failure, report.message, report.context):
                if text:
                    self._say("hooks.message", f"{report.hook.name}: {text}"[:OUTPUT_CAP], report.hook.file)

    async def on_end(self, reason: str) -> None:
        with anyio.CancelScope(shield=True):
            await self._fire("SessionEnd", {"reason": reason})

    async def _fire(self, event: str, fields: dict[str, Any], call: ToolCall | None = None) -> tuple[HookReport, ...]:
        chosen = chosen_hooks(self._plan, event, fields)
        chosen = tuple(
            hook for hook in chosen if hook.condition is None or (call and self._applies(hook.condition, call))
        )
        if not chosen:
            return ()
        facts, cwd = self._facts, self._facts.cwd()
        common = {
            "session_id": facts.session_id,
            "transcript_path": facts.transcript_path,
            "cwd": cwd,
            "permission_mode": facts.mode(),
            "hook_event_name": event,
        }
        payload = json.dumps({**common, **fields}, ensure_ascii=True).encode()
        for hook in (hook for hook in chosen if hook.background):
            self._runner.start(hook, payload, cwd)
        reports = await self._run_all(tuple(hook for hook in chosen if not hook.background), payload, cwd)
        if event == "PreToolUse":
            # Its block is the gate's business; here only what it tells.
            self._tell(reports)
        return reports

    async def _run_all(self, hooks: tuple[Hook, ...], payload: bytes, cwd: str) -> tuple[HookReport, ...]:
        reports: dict[int, HookReport] = {}

        async def run(at: int, hook: Hook) -> None:
            reports[at] = read_report(hook, await self._runner.run(hook, payload, cwd))

        async with anyio.create_task_group() as tasks:
            for at, hook in enumerate(hooks):
                tasks.start_soon(run, at, hook)
        return tuple(reports[at] for at in range(len(hooks)))

    def _tell(self, reports: Sequence[HookReport]) -> str | None:
        """Take in what the reports say; gives the first block."""
        blocked = None
        for report in reports:
            event, name = report.hook.event, report.hook.name
            if report.failure is not None:
                self._say(
                    "hooks.failed", f"The hook {name!r} of {event} gave no verdict: {report.failure}", report.hook.file
                )
            if report.message:
                self._say("hooks.message", f"{name}: {report.message}"[:OUTPUT_CAP], report.hook.file)
            if report.context:
                self._note(event, name, report.context)
            if report.blocked is not None:
                blocked = blocked or f"{name}: {report.blocked}"
                if event not in {"UserPromptSubmit", "PostToolBatch"}:
                    self._note(event, name, report.blocked)
            if report.stop:
                self._stop = self._stop or f"{name}: {report.stop_reason or 'no reason given'}"
        return blocked

    def _note(self, event: str, name: str, text: str) -> None:
        if len(text) > OUTPUT_CAP:
            text = self._runner.keep(text)
        # The name first: it is a hook that speaks, not the user and not the program (R379).
        self._notes.append(TextAttachment(kind=CONTEXT_KIND, text=f"{event} hook {name} says:\n{text}", name=event))

    def _say(self, code: str, message: str, where: str) -> None:
        self._watch(NotesCollected((), (Diagnostic(code, message, where=where, step="hooks"),)))


def _call_fields(call: ToolCall) -> dict[str, Any]:
    return {"tool_name": call.name, "tool_input": json.loads(bytes(call.input)), "tool_use_id": call.id}


def _plain(outcome: ToolOutcome) -> str:
    if isinstance(outcome.content, str):
        return outcome.content
    return "\n".join(getattr(block, "text", "") for block in outcome.content)
