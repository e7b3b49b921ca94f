"""What a hook said: its exit code, its text and its JSON, read as one report (project-conventions 4.6).

Decides whether a hook gave a verdict, which one, or how it failed to (F35). Several reports are joined by the strictest. What follows
from a failure is `plan_answer`'s business, by the policy of R371. Never runs a hook.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Raw, Struct

from compositor.types.json import raw_json

from .gate import HookAnswer
from .hook_handlers import Hook, HookKind
from .hook_table import EVENTS, Blocking
from .hooks import OnFailure


class Ended(enum.StrEnum):
    EXITED = "exited"
    TIMED_OUT = "timed out"
    NOT_STARTED = "could not be started"


class HookRun(Struct, frozen=True, kw_only=True):
    """What came back. For HTTP `code` is the status and `stdout` the body."""

    ended: Ended
    code: int = 0
    stdout: str = ""
    stderr: str = ""


class HookReport(Struct, frozen=True, kw_only=True):
    """One hook, read. `failure` says how it failed to give a verdict; then nothing else of it counts.

    `decision` is `deny`, `ask` or `allow` before a call; `blocked` the reason of a block elsewhere. `stop`: nothing goes on.
    """

    hook: Hook
    decision: str | None = None
    reason: str = ""
    input: Raw | None = None
    blocked: str | None = None
    context: str = ""
    message: str = ""
    stop: bool = False
    stop_reason: str = ""
    failure: str | None = None


# How interpreters say that there is nothing to run. With exit code 2 this would look like a refusal of the hook itself (F35).
_LAUNCH_FAULT = re.compile(
    r"can't open file|Can't open perl script|Cannot find module|No such file or directory|command not found|not found|"
    r"LoadError|unrecognized option|Permission denied",
)
_DECIDING = frozenset({"PreToolUse", "PermissionRequest"})
"""Events whose hooks speak about permission."""
_DECISIONS = {"approve": "allow", "block": "deny"}


def read_report(hook: Hook, run: HookRun) -> HookReport:
    """Read one run. Never raises for anything a hook printed."""
    if run.ended is not Ended.EXITED:
        why = f": {_first_line(run.stderr)}" if run.stderr.strip() else ""
        return HookReport(hook=hook, failure=f"it {run.ended.value}{why}")
    if hook.kind is HookKind.PROMPT:
        return _model_verdict(hook, run)
    text = run.stdout.strip()
    is_json = text.startswith("{")
    value, fault = _object(text) if is_json else (None, None)
    if hook.kind is HookKind.HTTP:
        if not 200 <= run.code < 300:
            return HookReport(hook=hook, failure=f"it answered with status {run.code}")
        if text and value is None:
            return HookReport(hook=hook, failure=fault or "it answered with no JSON object")
    elif run.code == 2:
        return _exit_two(hook, run, value)
    elif run.code != 0 and value is None:
        return HookReport(hook=hook, failure=_exit_words(run))
    if fault is not None:
        return HookReport(hook=hook, failure=fault)
    if value is None:
        return HookReport(hook=hook, context=text if EVENTS[hook.event].speaks else "")
    return _from_json(hook, value)


def plan_answer(reports: Iterable[HookReport], on_failure: OnFailure | None, *, interactive: bool) -> HookAnswer:
    """The answer of all hooks before a call: deny over ask over allow; a failure as R371 says."""
    found = tuple(reports)
    for report in found:
        if report.decision == "deny":
            return HookAnswer(denied=f"{report.hook.name}: {report.reason or 'no reason given'}")
        if report.stop:
            return HookAnswer(denied=f"{report.hook.name} ends the turn: {report.stop_reason}")
    chosen = on_failure or (OnFailure.ASK if interactive else OnFailure.WARN)
    for report in found:
        if report.failure is not None and (report.hook.is_guard or chosen is OnFailure.REFUSE):
            return HookAnswer(denied=f"{report.hook.name} gave no verdict: {report.failure}")
    asks = [f"{report.hook.name}: {report.reason}" for report in found if report.decision == "ask"]
    if chosen is OnFailure.ASK:
        asks += [f"{one.hook.name} gave no verdict: {one.failure}" for one in found if one.failure is not None]
    inputs = [report.input for report in found if report.input is not None]
    allowed = next((report.hook.name for report in found if report.decision == "allow"), None)
    return HookAnswer(
        input=inputs[-1] if inputs else None, ask="; ".join(asks) or None, allowed=None if asks else allowed
    )


def plan_permission(reports: Iterable[HookReport]) -> HookAnswer:
    """The answer of all hooks to an open question: deny over allow. A guard without a verdict refuses; any other leaves it to the person."""
    found = tuple(reports)
    for report in found:
        if report.decision == "deny" or report.stop:
            return HookAnswer(denied=f"{report.hook.name}: {report.reason or report.stop_reason or 'no reason given'}")
        if report.failure is not None and report.hook.is_guard:
            return HookAnswer(denied=f"{report.hook.name} gave no verdict: {report.failure}")
    return HookAnswer(allowed=next((report.hook.name for report in found if report.decision == "allow"), None))


def _model_verdict(hook: Hook, run: HookRun) -> HookReport:
    """What a model said about the event: `{"ok": ...}`. Its yes is no permission, only no objection; anything else is no verdict."""
    if run.code != 0:
        return HookReport(hook=hook, failure=_first_line(run.stderr) or "the model gave no answer")
    found = re.search(r"\{.*\}", run.stdout, re.DOTALL)
    value, fault = _object(found[0]) if found is not None else (None, "the model answered with no JSON object")
    if value is None or not isinstance(value.get("ok"), bool):
        return HookReport(hook=hook, failure=fault or "the model's answer has no 'ok'")
    if value["ok"]:
        return HookReport(hook=hook)
    reason = _text(value, "reason")
    return HookReport(hook=hook, decision="deny", reason=reason) if hook.event in _DECIDING else _blocking(hook, reason)


def _blocking(hook: Hook, reason: str, context: str = "") -> HookReport:
    """A block in the form that the event of the hook knows."""
    match EVENTS[hook.event].blocking:
        case Blocking.NOTHING:
            return HookReport(hook=hook, message=reason, context=context)
        case Blocking.REFUSES if hook.event in _DECIDING:
            return HookReport(hook=hook, decision="deny", reason=reason, context=context)
        case _:
            return HookReport(hook=hook, blocked=reason or "no reason given", context=context)


def _exit_two(hook: Hook, run: HookRun, value: dict[str, Any] | None) -> HookReport:
    """A block, which no JSON takes back; the reason is that of a blocking JSON, else standard error."""
    said = _from_json(hook, value) if value is not None else None
    reason = run.stderr.strip()
    if said is not None and (said.decision == "deny" or said.blocked is not None):
        reason = said.reason or said.blocked or reason
    elif _LAUNCH_FAULT.search(run.stderr):
        return HookReport(hook=hook, failure=f"it could not be launched: {_first_line(run.stderr)}")
    context = said.context if said is not None else ""
    return _blocking(hook, reason, context)


def _from_json(hook: Hook, value: dict[str, Any]) -> HookReport:
    special = value.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    if special and special.get("hookEventName") != hook.event:
        return HookReport(hook=hook, failure="its hookSpecificOutput names another event")
    row = EVENTS[hook.event]
    decided = _decided(hook, value, special)
    if isinstance(decided, str):
        return HookReport(hook=hook, failure=decided)
    verdict, reason, changed = decided
    blocks = value.get("decision") == "block" and hook.event not in _DECIDING and row.blocking is not Blocking.NOTHING
    return HookReport(
        hook=hook,
        decision=verdict,
        reason=reason,
        input=None if changed is None else raw_json(changed),
        blocked=(reason or "no reason given") if blocks else None,
        context=_text(special, "additionalContext") if row.context else "",
        message=_text(value, "systemMessage"),
        stop=value.get("continue") is False,
        stop_reason=_text(value, "stopReason"),
    )


def _decided(
    hook: Hook, value: dict[str, Any], special: dict[str, Any]
) -> tuple[str | None, str, dict[str, Any] | None] | str:
    """What the JSON decides about a call: verdict, reason, the changed input; or how it failed to."""
    reason, changed = _text(value, "reason"), None
    if hook.event == "PreToolUse":
        written = special.get("permissionDecision", _DECISIONS.get(str(value.get("decision"))))
        changed = special.get("updatedInput")
        reason = _text(special, "permissionDecisionReason") or reason
    elif hook.event == "PermissionRequest":
        answer = special.get("decision")
        answer = answer if isinstance(answer, dict) else {}
        written, reason = answer.get("behavior"), _text(answer, "message") or reason
    else:
        return None, reason, None
    if written is not None and written not in {"allow", "deny", "ask", "defer"}:
        return f"its decision {written!r} is unknown"
    if changed is not None and not isinstance(changed, dict):
        return "its updatedInput is no object"
    return ("ask" if written == "defer" else written), reason, changed


def _object(text: str) -> tuple[dict[str, Any] | None, str | None]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, f"it printed broken JSON: {text[:60]!r}"
    return (value, None) if isinstance(value, dict) else (None, "it printed no JSON object")


def _exit_words(run: HookRun) -> str:
    line = _first_line(run.stderr)
    if run.code in {126, 127}:
        return f"it could not be launched: {line or f'exit code {run.code}'}"
    return f"it ended with exit code {run.code}" + (f": {line}" if line else "")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
