"""Every settings key the product knows: its shape, who may set it, and how levels combine.

Decides what a well-formed entry is. A declared table: a key that is not here is kept as it is and reported. Never reads a
file and never gives a key its meaning.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct


class Scope(enum.StrEnum):
    """Who may set a key. A repository's files (project and local) may set only what is open to `ANY`."""

    ANY = "any"
    USER = "user"
    MANAGED = "managed"


class Join(enum.StrEnum):
    """How a key of several levels combines: by shape, whole from the highest, or whole from managed settings."""

    BY_SHAPE = "by shape"
    WHOLE = "whole"
    MANAGED_REPLACES = "managed replaces"


class Scalar(Struct, frozen=True):
    """A value that is taken as it is; `expected` in words."""

    expected: str
    fits: Callable[[Any], bool]


class ListOf(Struct, frozen=True):
    """An array; a bad item costs only itself."""

    item: Scalar


class MapOf(Struct, frozen=True):
    """An object with free keys; a bad value costs only itself."""

    item: Scalar


class Table(Struct, frozen=True):
    """An object with known keys; unknown ones are kept."""

    fields: Mapping[str, Key]


Shape: TypeAlias = Scalar | ListOf | MapOf | Table


class Key(Struct, frozen=True, kw_only=True):
    """One row: what `note` says is what the reference page says."""

    shape: Shape
    scope: Scope = Scope.ANY
    join: Join = Join.BY_SHAPE
    note: str = ""


def _one_of(*words: str) -> Scalar:
    return Scalar("one of " + ", ".join(repr(word) for word in words), lambda value: value in words)


def _whole(least: int, most: int | None = None) -> Scalar:
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    return Scalar(span, lambda value: type(value) is int and value >= least and (most is None or value <= most))


def _is_fraction(value: Any) -> bool:
    return type(value) in {int, float} and 0 < value <= 1


TEXT = Scalar("a string", lambda value: isinstance(value, str))
SWITCH = Scalar("true or false", lambda value: isinstance(value, bool))
FRACTION = Scalar("a number above 0 and not above 1", _is_fraction)
OBJECT = Scalar("an object", lambda value: isinstance(value, dict))
ANYTHING = Scalar("anything", lambda _: True)
EFFORT = _one_of("low", "medium", "high", "xhigh", "max")
MODE = _one_of("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
TTL = _one_of("5m", "1h")
OFF = _one_of("disable")
TEXTS = ListOf(TEXT)
HOOK_GROUPS = Scalar(
    "an array, or for 'onFailure' one of 'refuse', 'ask', 'warn'",
    lambda value: isinstance(value, list) or value in ("refuse", "ask", "warn"),
)


def _key(shape: Shape, note: str = "", *, scope: Scope = Scope.ANY, join: Join = Join.BY_SHAPE) -> Key:
    return Key(shape=shape, scope=scope, join=join, note=note)


PERMISSIONS: Mapping[str, Key] = {
    "allow": _key(TEXTS, "Rules for calls that run without asking."),
    "ask": _key(TEXTS, "Rules for calls that always ask."),
    "deny": _key(TEXTS, "Rules for calls that are refused; those of every level count."),
    "additionalDirectories": _key(TEXTS, "More directories that tools may work in."),
    "defaultMode": _key(MODE, "The permission mode a run starts in."),
    "disableBypassPermissionsMode": _key(OFF, "Refuses the mode `bypassPermissions`."),
    "disableAutoMode": _key(OFF, "Refuses the mode `auto`."),
}

SANDBOX: Mapping[str, Key] = {
    "enabled": _key(SWITCH),
    "failIfUnavailable": _key(SWITCH),
    "autoAllowBashIfSandboxed": _key(SWITCH),
    "allowUnsandboxedCommands": _key(SWITCH),
    "excludedCommands": _key(TEXTS),
    "filesystem": _key(
        Table(
            {
                "allowWrite": _key(TEXTS),
                "denyWrite": _key(TEXTS),
                "denyRead": _key(TEXTS),
                "allowRead": _key(TEXTS),
                "disabled": _key(SWITCH, scope=Scope.USER),
                "allowManagedReadPathsOnly": _key(SWITCH, scope=Scope.MANAGED),
            }
        )
    ),
    "network": _key(
        Table(
            {
                "allowedDomains": _key(TEXTS),
                "deniedDomains": _key(TEXTS),
                "allowUnixSockets": _key(TEXTS),
                "strictAllowlist": _key(SWITCH, scope=Scope.USER),
                "allowManagedDomainsOnly": _key(SWITCH, scope=Scope.MANAGED),
            }
        )
    ),
}

CACHE: Mapping[str, Key] = {
    "prefix": _key(
        _one_of("warn", "ask", "refuse"), "What happens before an event moves a prefix that was paid for; unset warns."
    ),
    "diagnostics": _key(SWITCH, "Asks the service why its cache missed, where the platform answers; unset means yes."),
    "longLifetime": _key(TEXTS, "Models (globs) whose entries may live an hour; unset means all.", join=Join.WHOLE),
    "expired": _key(
        _one_of("keep", "clean"), "Whether old tool results are cleaned out once nothing of them is in the cache."
    ),
    "keepResults": _key(_whole(1), "Newest tool results that are never cleaned; unset means 5."),
    "edits": _key(
        Table(
            {
                "trigger": _key(
                    _whole(1),
                    "Tokens of a request from which on the service clears old tool results; unset means 100000.",
                ),
                "keep": _key(_whole(0), "Newest calls whose results stay; unset means 3."),
                "clearAtLeast": _key(_whole(1), "Tokens that a clearing must free."),
                "excludeTools": _key(TEXTS, "Tools whose results stay."),
            }
        ),
        "Server-side clearing; kept as first sent for the whole session.",
    ),
}

BUDGET_SPAN = Table(
    {
        "dollars": _key(Scalar("a number above 0", lambda value: type(value) in {int, float} and value > 0)),
        "tokens": _key(_whole(1)),
    }
)
BUDGET: Mapping[str, Key] = {
    "turn": _key(BUDGET_SPAN),
    "session": _key(BUDGET_SPAN),
    "day": _key(BUDGET_SPAN),
    "action": _key(_one_of("stop", "ask")),
}

OWN: Mapping[str, Key] = {
    "budget": _key(
        Table(BUDGET), "What a turn, a session and a day may cost, and what happens at the limit.", scope=Scope.USER
    ),
    "cache": _key(Table(CACHE), "The prompt cache: see cache.md."),
    "promptCacheTtl": _key(TTL, "Lifetime of cache markers; beats the top-level key of that name."),
    "resumeHead": _key(_one_of("replay", "rebuild"), "Whether a resumed session sends its recorded head or a new one."),
    "durableSessions": _key(SWITCH, "Puts each record of a session on the disk before it counts as stored."),
    "minimal": _key(SWITCH, "Leaves the optional context out."),
    "fastMode": _key(SWITCH, "Asks for fast mode where model and platform have it.", scope=Scope.USER),
    "agentsMd": _key(SWITCH, "Whether `AGENTS.md` is read where no `CLAUDE.md` stands beside it; unset means yes."),
    "teamMemoryDirectory": _key(TEXT, "A folder of notes that a team shares; relative to the project."),
    "models": _key(
        MapOf(OBJECT), "Facts about models that beat the built-in ones, by model id; see models.md.", scope=Scope.USER
    ),
    "prices": _key(
        MapOf(OBJECT),
        "Prices that beat the built-in ones, by model id, in dollars for a million tokens; see models.md.",
        scope=Scope.USER,
    ),
    "mcpInstructions": _key(
        _one_of("delta", "section"),
        "How servers' instructions reach the model: as a note when they change, or in the system prompt, which then moves.",
    ),
    "turnResultTokens": _key(
        _whole(1_000),
        "What all tool results that answer one message may cost; unset means 60,000, or 30% of a small window.",
    ),
    "languageServers": _key(
        MapOf(OBJECT), "Language servers for the tool `LSP`, by name; see tools.md.", scope=Scope.USER
    ),
    "toolSearch": _key(
        _one_of("client", "provider"),
        "Who searches deferred tools: the tool `ToolSearch`, or the service itself where model and platform do.",
    ),
    "profileInstructions": _key(TEXT, "A text that is added to the default system prompt."),
    "reader": _key(_one_of("expert", "learner"), "Whom answers are written for; each has a cached prefix of its own."),
    "lengthAnchors": _key(SWITCH, "Adds numbers for the length of answers to the default system prompt."),
    "autonomous": _key(SWITCH, "Takes the slim system prompt of an agent that nobody watches."),
    "coordinator": _key(SWITCH, "Lets `COMPOSITOR_COORDINATOR=1` take the system prompt of a coordinator."),
    "sessionMemory": _key(
        SWITCH, "Keeps notes of the session in the background, which a compaction takes in place of a summary."
    ),
    "serverSummary": _key(
        SWITCH, "Lets the service write the summary of a compaction, on platforms that have compaction on demand."
    ),
    "tellUsage": _key(
        SWITCH, "Tells the model at 50, 75 and 90 % how much of the window and of the requests of a turn is used up."
    ),
    "versionControl": _key(
        _one_of("git", "perforce", "none"), "Whose state is told when a session starts.", scope=Scope.USER
    ),
    "versionState": _key(
        _one_of("system", "message"),
        "Where the state of version control stands: in the system prompt, or behind the user context.",
    ),
    "dynamicScope": _key(
        _one_of("none", "org"),
        "Whether the second system block is shared in the organization, where a platform has scopes.",
    ),
    "outline": _key(
        SWITCH, "Tells the model what lies in the working directory when a session starts, at most 200 names."
    ),
    "theme": _key(
        _one_of("dark", "light", "high-contrast", "none"), "The colors of the interactive prompt; unset means dark."
    ),
    "screenReader": _key(
        SWITCH,
        "Lets the interactive prompt write whole lines and nothing that moves, for programs that read the screen aloud.",
    ),
    "telemetry": _key(
        SWITCH,
        "Sends spans and metrics of each turn to an OpenTelemetry collector; see telemetry.md.",
        scope=Scope.USER,
    ),
    "platform": _key(TEXT, "The platform to speak to; unset means what the environment says.", scope=Scope.USER),
}

SETTINGS: Mapping[str, Key] = {
    "$schema": _key(TEXT, "Names the schema for editors; has no effect."),
    "agent": _key(TEXT, "Runs the main thread as a named agent."),
    "allowManagedHooksOnly": _key(SWITCH, "Ignores hooks of all other levels.", scope=Scope.MANAGED),
    "allowManagedMcpServersOnly": _key(SWITCH, "Ignores MCP servers of all other levels.", scope=Scope.MANAGED),
    "allowManagedPermissionRulesOnly": _key(
        SWITCH,
        "Ignores allow rules of all other levels; their ask and deny rules stay.",
        scope=Scope.MANAGED,
    ),
    "allowedHttpHookUrls": _key(TEXTS, "Addresses that HTTP hooks may call."),
    "allowedMcpServers": _key(ListOf(OBJECT), "MCP servers that may be used."),
    "alwaysThinkingEnabled": _key(SWITCH, "Whether the model thinks; unset means yes."),
    "apiKeyHelper": _key(TEXT, "A command that prints a key; run where the environment has none.", scope=Scope.USER),
    "askUserQuestionTimeout": _key(_one_of("60s", "5m", "10m"), "How long a question waits.", scope=Scope.USER),
    "attribution": _key(
        Table({"commit": _key(TEXT), "pr": _key(TEXT), "sessionUrl": _key(SWITCH)}),
        "Texts for commits and pull requests.",
    ),
    "autoCompactEnabled": _key(SWITCH, "Whether a full window is compacted by itself."),
    "autoCompactWindow": _key(_whole(100_000, 1_000_000), "Window in tokens that automatic compaction counts with."),
    "autoMemoryDirectory": _key(TEXT, "Where automatic memory lives."),
    "autoMemoryEnabled": _key(SWITCH, "Whether automatic memory is on."),
    "autoMode": _key(OBJECT, "Settings of the mode `auto`.", scope=Scope.USER),
    "availableModels": _key(TEXTS, "The only models a run may use.", join=Join.MANAGED_REPLACES),
    "claudeMd": _key(TEXT, "Instructions of the organization.", scope=Scope.MANAGED),
    "claudeMdExcludes": _key(TEXTS, "Memory files that are not loaded: globs or absolute paths."),
    "cleanupPeriodDays": _key(_whole(1), "Days that old sessions are kept."),
    "compositor": _key(Table(OWN), "The keys of this program alone; other programs ignore them."),
    "deniedMcpServers": _key(ListOf(OBJECT), "MCP servers that may not be used."),
    "disableAllHooks": _key(SWITCH, "Turns hooks off."),
    "disableAutoMode": _key(OFF, "Refuses the mode `auto`."),
    "disableBundledSkills": _key(SWITCH, "Leaves built-in skills out."),
    "disableSkillShellExecution": _key(SWITCH, "Skills may not run shell commands while they load."),
    "disabledMcpjsonServers": _key(TEXTS, "Servers of `.mcp.json` that are refused."),
    "effortLevel": _key(EFFORT, "How much work the model puts into an answer."),
    "enableAllProjectMcpServers": _key(SWITCH, "Approves every server of `.mcp.json`."),
    "enabledMcpjsonServers": _key(TEXTS, "Servers of `.mcp.json` that are approved."),
    "enabledPlugins": _key(MapOf(ANYTHING), "Plugins by `name@marketplace`."),
    "env": _key(MapOf(TEXT), "Environment variables of the run; an empty value takes one away."),
    "extraKnownMarketplaces": _key(MapOf(OBJECT), "More plugin marketplaces."),
    "fallbackModel": _key(
        TEXTS,
        "Models to try when the chosen one fails, in order. The session stays with the one that answers.",
        join=Join.WHOLE,
    ),
    "fileCheckpointingEnabled": _key(SWITCH, "Whether files are kept before they are edited."),
    "hooks": _key(MapOf(HOOK_GROUPS), "Commands that run at events, and `onFailure`."),
    "httpHookAllowedEnvVars": _key(TEXTS, "Variables that HTTP hooks may send."),
    "includeCoAuthoredBy": _key(SWITCH, "Deprecated; see `attribution`."),
    "includeGitInstructions": _key(SWITCH, "Whether git instructions and the git snapshot are sent."),
    "language": _key(TEXT, "The language of answers."),
    "model": _key(TEXT, "The model: an alias or an id."),
    "outputStyle": _key(TEXT, "The name of an output style."),
    "permissions": _key(Table(PERMISSIONS), "Rules, mode and directories of the gate."),
    "plansDirectory": _key(TEXT, "Where plans are kept."),
    "policyHelper": _key(
        ANYTHING, "A program that prints managed settings; not run by this version.", scope=Scope.MANAGED
    ),
    "promptCacheTtl": _key(TTL, "Lifetime of cache markers."),
    "respectGitignore": _key(SWITCH, "Whether the file picker hides ignored files."),
    "sandbox": _key(Table(SANDBOX), "The sandbox of shell commands."),
    "skillListingBudgetFraction": _key(FRACTION, "Share of the window that the list of skills may take."),
    "skillListingMaxDescChars": _key(_whole(1), "Longest description in the list of skills."),
    "skillOverrides": _key(
        MapOf(_one_of("on", "name-only", "user-invocable-only", "off")), "How single skills are listed."
    ),
    "statusLine": _key(OBJECT, "A command for the status line; not run by this version."),
    "strictKnownMarketplaces": _key(ListOf(ANYTHING), "The only marketplaces that may be used.", scope=Scope.MANAGED),
    "subagentPromptCacheTtl": _key(TTL, "Lifetime of cache markers in subagents."),
}
"""Top-level keys in alphabetical order."""


def key_at(path: tuple[str | int, ...]) -> Key | None:
    """The row of a key by its way from the top, `None` for a key without one."""
    fields: Mapping[str, Key] = SETTINGS
    found: Key | None = None
    for step in path:
        found = fields.get(step) if isinstance(step, str) else None
        fields = found.shape.fields if found is not None and isinstance(found.shape, Table) else {}
    return found
