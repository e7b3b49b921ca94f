"""What a caller can say about a run: one value for the command line and the SDK (R007).

Decides the forms in which flags are written. Never resolves them against settings: that is `contract.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode

from .layer import Level
from .profile import Effort


class PromptText(Struct, frozen=True):
    """A prompt that a caller gave, with the file it came from, if it came from one (R002)."""

    text: str
    file: str | None = None


class Flags(Struct, frozen=True, kw_only=True):
    """Everything a caller can say. `None` and empty tuples mean that nothing was said.

    `tools`: `None` for all built-in tools, otherwise exactly these. `settings`: a path or an inline JSON object.
    `setting_sources`: the levels whose files are read, `None` for all; managed settings are always read. `add_dirs` as
    given. Limits in turns, US dollars (`max_budget`, of the whole run) and tokens. `json_schema` is the form of the last answer. `user_id` is the opaque id of `metadata` (L22).
    `agents` is a JSON object of agents by name, `agent` the one that leads the conversation.
    `mcp_config`: files or inline JSON objects with MCP servers; with `strict_mcp_config` the only ones.
    """

    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    effort: Effort | None = None
    permission_mode: PermissionMode | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    settings: str | None = None
    setting_sources: tuple[Level, ...] | None = None
    add_dirs: tuple[str, ...] = ()
    system_prompt: PromptText | None = None
    override_system_prompt: PromptText | None = None
    append_system_prompt: tuple[PromptText, ...] = ()
    exclude_dynamic_sections: bool = False
    max_turns: int | None = None
    max_budget: float | None = None
    json_schema: str | None = None
    max_output_tokens: int | None = None
    fast: bool | None = None
    platform: str | None = None
    betas: tuple[str, ...] = ()
    temperature: float | None = None
    user_id: str | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    agents: str | None = None
    agent: str | None = None


SOURCES: tuple[Level, ...] = (Level.USER, Level.PROJECT, Level.LOCAL)
"""The levels that `--setting-sources` can name."""


def parse_effort(text: str) -> Effort:
    """Raises `UsageError` for a word that is no effort level."""
    try:
        return Effort(text.strip().lower())
    except ValueError:
        raise _not_one_of("effort level", text, Effort) from None


def parse_mode(text: str) -> PermissionMode:
    """A permission mode by name; `manual` is another name of `default`. Raises `UsageError` for any other word."""
    try:
        return PermissionMode.DEFAULT if text == "manual" else PermissionMode(text)
    except ValueError:
        raise _not_one_of("permission mode", text, PermissionMode) from None


def parse_sources(text: str) -> tuple[Level, ...]:
    """`user,project,local` in any order; an empty text names none. Raises `UsageError` for another name."""
    words = split_words(text)
    unknown = next((word for word in words if word not in SOURCES), None)
    if unknown is not None:
        raise _not_one_of("setting source", unknown, SOURCES)
    return tuple(level for level in SOURCES if level in words)


def parse_tools(text: str) -> tuple[str, ...] | None:
    """The value of `--tools`: `default` for all, an empty text for none, otherwise names."""
    words = split_words(text)
    return None if words == ("default",) else words


def split_words(text: str) -> tuple[str, ...]:
    """Words between commas or blanks, without repetition."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def split_rules(text: str) -> tuple[str, ...]:
    """Permission rules between commas or blanks; what stands in parentheses belongs to its rule.

    `Bash(git log *), Edit` gives `Bash(git log *)` and `Edit`. An unclosed parenthesis takes the rest of the text.
    """
    rules, current, depth = [], "", 0
    for letter in text:
        depth = max(depth + {"(": 1, ")": -1}.get(letter, 0), 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            rules.append(current)
            current = ""
        else:
            current += letter
    return tuple(dict.fromkeys(rule for rule in (*rules, current) if rule))


def _not_one_of(what: str, got: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"There is no {what} {got!r}", hint=f"Use one of: {', '.join(map(str, known))}")
