"""The events of hooks as the agent, the gate and the workshop meet them: what each tells, and what follows (R373 to R379).

Decides the input of each event. A post-hook undoes nothing, and no hook frees what a rule holds. Firing is `hook_firing`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import anyio
import msgspec

from compositor.policy.gate import HookAnswer
from compositor.policy.hook_output import HookReport, plan_answer, plan_permission
from compositor.policy.hook_table import OUTPUT_CAP, STOP_CAP
from compositor.policy.hooks import HookPlan
from compositor.ports import HookRunner
from compositor.runtime.events import Watcher
from compositor.runtime.hook_derived import as_refusals, derived_event
from compositor.runtime.hook_firing import Firing, HookFacts
from compositor.types.attachments import Attachment, TextAttachment
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

STOP_CLASSES = {
    "api_error": "server_error",
    "authentication_error": "authentication_failed",
    "billing_error": "billing_error",
    "invalid_request_error": "invalid_request",
    "not_found_error": "model_not_found",
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limit",
}
"""Error types of the service and the classes that hooks know them by (project-conventions 4.2)."""


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
        self.firing = Firing(plan, runner, facts, watch, applies)
        self._interactive = interactive
        self._stops = 0
        self._cwd: str | None = None

    def take_notes(self) -> tuple[TextAttachment, ...]:
        """What hooks said since the last call, those in the background included; each text once."""
        return self.firing.take_notes()

    @property
    def is_stopped(self) -> bool:
        return self.firing.stop is not None

    def take_stop(self) -> str | None:
        """Why a hook ends the turn, once."""
        stop, self.firing.stop = self.firing.stop, None
        return stop

    async def before_call(self, call: ToolCall) -> HookAnswer:
        """The joined answer of all hooks on a call about to be judged; they run side by side on the same input."""
        reports = (*await self.firing.fire("PreToolUse", _call_fields(call), call), *await self._derived(call))
        # Its block is the gate's business; here only what it tells.
        self.firing.take_in(reports)
        return plan_answer(reports, self.firing.plan.on_failure, interactive=self._interactive)

    async def _derived(self, call: ToolCall) -> Sequence[HookReport]:
        """What hooks say of the event that the call stands for: a task, a worktree."""
        derived = derived_event(call.name, json.loads(bytes(call.input)))
        if derived is None:
            return ()
        event, fields = derived
        return as_refusals(event, await self.firing.fire(event, fields, call))

    async def on_switch(self, before: str, after: str, source: str) -> str | None:
        """Why the session may not go on with another model, `None` when it may."""
        return await self.firing.tell("PreModelSwitch", _switch_fields(before, after, source))

    async def on_switched(self, before: str, after: str, source: str) -> None:
        await self.firing.tell("PostModelSwitch", _switch_fields(before, after, source))

    async def before_question(self, call: ToolCall, reason: str) -> HookAnswer:
        """The joined answer of all hooks on a call that a person is about to be asked about; the person is told that it waits."""
        message = f"{call.name} waits for a permission: {reason}"
        await self.firing.tell("Notification", {"message": message, "notification_type": "permission_prompt"})
        fields = _call_fields(call)
        del fields["tool_use_id"]
        reports = await self.firing.fire("PermissionRequest", fields, call)
        self.firing.take_in(reports)
        return plan_permission(reports)

    async def on_denied(self, call: ToolCall, reason: str) -> None:
        """The classifier of the mode `auto` did not let a call through."""
        await self.firing.tell("PermissionDenied", {**_call_fields(call), "reason": reason}, call)

    async def after_call(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """What is done stays done (R367): hooks can only tell the model something, or end the turn."""
        if outcome.kind is OutcomeKind.DONE:
            answer = outcome.structured if outcome.structured is not None else msgspec.json.encode(_plain(outcome))
            fields = {**_call_fields(call), "tool_response": json.loads(bytes(answer))}
            await self.firing.tell("PostToolUse", fields, call)
        elif outcome.kind in {OutcomeKind.FAILED, OutcomeKind.INTERRUPTED}:
            fields = {
                **_call_fields(call),
                "error": _plain(outcome),
                "is_interrupt": outcome.kind is OutcomeKind.INTERRUPTED,
            }
            await self.firing.tell("PostToolUseFailure", fields, call)

    async def after_batch(self, calls: Sequence[ToolCall], outcomes: Sequence[ToolOutcome]) -> None:
        done = [
            {**_call_fields(call), "tool_response": _plain(outcome)}
            for call, outcome in zip(calls, outcomes, strict=True)
        ]
        await self._follow_directory()
        firing = self.firing
        firing.stop = await firing.tell("PostToolBatch", {"tool_calls": done}) or firing.stop

    async def on_start(self, source: str, model: str) -> None:
        self._cwd = self.firing.facts.cwd()
        if self.firing.facts.agent:
            if source == "agent":
                await self.firing.tell("SubagentStart", {})
            return
        reason = "compact" if source == "compact" else "session_start"
        for path, level in self.firing.facts.instructions:
            await self._instructions(path, level, reason)
        await self.firing.tell("SessionStart", {"source": source, "model": model})

    async def on_notes(self, notes: Iterable[Attachment]) -> None:
        """Instruction files that the work led to."""
        for note in notes:
            if isinstance(note, TextAttachment) and note.kind == "nested_memory" and note.path:
                await self._instructions(note.path, note.name or "project", "nested_traversal")

    async def on_prompt(self, prompt: str) -> str | None:
        """The reason of a block, which keeps the submission from the model altogether (R375). What an agent is given is no submission of a person."""
        if self.firing.facts.agent:
            return None
        return await self.firing.tell("UserPromptSubmit", {"prompt": prompt})

    async def on_expansion(self, name: str, arguments: str, source: str, prompt: str) -> str | None:
        """Why a command that a person typed is not expanded, `None` when it is."""
        fields = {"expansion_type": "slash_command", "command_name": name, "command_args": arguments}
        return await self.firing.tell("UserPromptExpansion", {**fields, "command_source": source, "prompt": prompt})

    async def on_stop(self, text: str) -> str | None:
        """Why the model should go on, `None` when it may stop. After eight in a row the turn ends all the same."""
        fields = {"stop_hook_active": self._stops > 0, "last_assistant_message": text}
        facts = self.firing.facts
        if facts.agent:
            fields["agent_transcript_path"] = facts.transcript_path
        blocked = await self.firing.tell("SubagentStop" if facts.agent else "Stop", fields)
        self._stops = self._stops + 1 if blocked else 0
        if self._stops > STOP_CAP:
            words = f"Stop hooks blocked {STOP_CAP} times in a row; the turn ends all the same"
            self.firing.say("hooks.stop-cap", words, "")
            self._stops = 0
            return None
        return None if self.is_stopped else blocked

    async def on_failure(self, error: str, details: str) -> None:
        """The turn ended because the model could not be asked. `error` is the type that the service named."""
        fields = {"error": STOP_CLASSES.get(error, "unknown"), "error_details": details}
        await self.firing.tell("StopFailure", fields)

    async def on_compact(self, trigger: str, focus: str) -> str | None:
        """Why the conversation may not be compacted, `None` when it may."""
        fields = {"trigger": "manual" if trigger == "manual" else "auto", "custom_instructions": focus or None}
        return await self.firing.tell("PreCompact", fields)

    async def on_compacted(self, trigger: str, summary: str) -> None:
        """What such a hook says goes to the person and never to the model (R323)."""
        fields = {"trigger": "manual" if trigger == "manual" else "auto", "compact_summary": summary}
        for report in await self.firing.fire("PostCompact", fields):
            for text in (report.failure, report.message, report.context):
                if text:
                    self.firing.say("hooks.message", f"{report.hook.name}: {text}"[:OUTPUT_CAP], report.hook.file)

    async def on_config(self, source: str, file: str) -> str | None:
        """Why a change of settings is not taken in, `None` when it is. A change of the managed settings cannot be blocked."""
        reports = await self.firing.fire("ConfigChange", {"source": source, "file_path": file})
        failed = next((one for one in reports if one.failure is not None and one.hook.is_guard), None)
        blocked = self.firing.take_in(reports)
        return blocked if failed is None else f"{failed.hook.name} gave no verdict: {failed.failure}"

    async def on_end(self, reason: str) -> None:
        if self.firing.facts.agent:
            return
        with anyio.CancelScope(shield=True):
            await self.firing.tell("SessionEnd", {"reason": reason})

    async def _follow_directory(self) -> None:
        """Tell that the commands run somewhere else now."""
        before, self._cwd = self._cwd, self.firing.facts.cwd()
        if before is not None and before != self._cwd:
            await self.firing.tell("CwdChanged", {"old_cwd": before, "new_cwd": self._cwd})

    async def _instructions(self, path: str, level: str, reason: str) -> None:
        fields = {"file_path": path, "memory_type": level.capitalize(), "load_reason": reason}
        await self.firing.tell("InstructionsLoaded", fields)


def _switch_fields(before: str, after: str, source: str) -> dict[str, Any]:
    return {"from_model": before, "to_model": after, "requested_model": after, "source": source}


def _call_fields(call: ToolCall) -> dict[str, Any]:
    return {"tool_name": call.name, "tool_input": json.loads(bytes(call.input)), "tool_use_id": call.id}


def _plain(outcome: ToolOutcome) -> str:
    if isinstance(outcome.content, str):
        return outcome.content
    return "\n".join(getattr(block, "text", "") for block in outcome.content)
