"""The events that hooks can listen to, as one table (project-conventions 4.2).

Decides what a matcher of an event is compared with, what blocking means there, and which events this version fires. A declared table;
it runs nothing.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Blocking(enum.Enum):
    """What exit code 2, or `decision: block`, does."""

    NOTHING = "shown to the user"
    REFUSES = "refuses the call or the submission"
    TELLS = "told to the model; what is done stays done"
    STOPS = "ends the turn"
    CONTINUES = "keeps the model going"


class HookEvent(Struct, frozen=True, kw_only=True):
    """One row. `matches` is the input field that a matcher is compared with; empty where matchers have no meaning.

    `speaks`: plain text on standard output reaches the model. `context`: `additionalContext` does. `fired`: by this version.
    """

    matches: str = ""
    blocking: Blocking = Blocking.NOTHING
    speaks: bool = False
    context: bool = False
    fired: bool = False
    seconds: float = 600.0


_TOOL = "tool_name"

EVENTS: dict[str, HookEvent] = {
    "SessionStart": HookEvent(matches="source", speaks=True, context=True, fired=True),
    "UserPromptSubmit": HookEvent(
        blocking=Blocking.REFUSES, speaks=True, context=True, fired=True, seconds=30.0
    ),
    "UserPromptExpansion": HookEvent(
        matches="command_name", blocking=Blocking.REFUSES, speaks=True, context=True, fired=True, seconds=30.0
    ),
    "PreToolUse": HookEvent(matches=_TOOL, blocking=Blocking.REFUSES, context=True, fired=True),
    "PostToolUse": HookEvent(matches=_TOOL, blocking=Blocking.TELLS, context=True, fired=True),
    "PostToolUseFailure": HookEvent(matches=_TOOL, blocking=Blocking.TELLS, context=True, fired=True),
    "PostToolBatch": HookEvent(blocking=Blocking.STOPS, context=True, fired=True),
    "Stop": HookEvent(blocking=Blocking.CONTINUES, context=True, fired=True),
    "SubagentStart": HookEvent(matches="agent_type", context=True, fired=True),
    "SubagentStop": HookEvent(matches="agent_type", blocking=Blocking.CONTINUES, context=True, fired=True),
    "PreCompact": HookEvent(matches="trigger", blocking=Blocking.REFUSES, fired=True),
    "PostCompact": HookEvent(matches="trigger", fired=True),
    "StopFailure": HookEvent(matches="error", fired=True),
    "PermissionRequest": HookEvent(matches=_TOOL, fired=True),
    "PermissionDenied": HookEvent(matches=_TOOL, fired=True),
    "Notification": HookEvent(matches="notification_type", fired=True),
    "ConfigChange": HookEvent(matches="source", blocking=Blocking.REFUSES, fired=True),
    "CwdChanged": HookEvent(fired=True),
    "InstructionsLoaded": HookEvent(matches="load_reason", fired=True),
    "TaskCreated": HookEvent(blocking=Blocking.REFUSES, fired=True),
    "TaskCompleted": HookEvent(blocking=Blocking.REFUSES, fired=True),
    "WorktreeCreate": HookEvent(blocking=Blocking.REFUSES, fired=True),
    "WorktreeRemove": HookEvent(fired=True),
    "PreModelSwitch": HookEvent(blocking=Blocking.REFUSES, fired=True),
    "PostModelSwitch": HookEvent(context=True, fired=True),
    "SessionEnd": HookEvent(matches="reason", fired=True, seconds=1.5),
    **{
        name: HookEvent()
        for name in (
            "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged",
            "MessageDisplay",
            "PreSkillShellCommand", "Setup",
            "TeammateIdle",
        )
    },
}  # fmt: skip
"""By name. The rows without a `fired` are known, so that settings written for other programs load without a complaint."""

NO_HTTP = frozenset({"SessionStart", "Setup"})
"""Events that take no HTTP handler (project-conventions 4.4)."""
MODEL_EVENTS = frozenset({
    "PermissionDenied", "PermissionRequest", "PostToolBatch", "PostToolUse", "PostToolUseFailure", "PreToolUse", "Stop", "SubagentStop",
    "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion", "UserPromptSubmit",
})  # fmt: skip
"""Events that take handlers which ask a model (project-conventions 4.4)."""

BEFORE_CALLS = frozenset({"PreToolUse", "TaskCompleted", "TaskCreated", "WorktreeCreate", "WorktreeRemove"})
"""Events that are fired before a call is judged: the first for every call, the others for what a call stands for."""

OUTPUT_CAP = 10_000
"""Characters of one text of a hook; what is longer goes to a file (project-conventions 4.6)."""
STOP_CAP = 8
"""Blocks of a Stop hook in a row, after which the turn ends all the same."""
