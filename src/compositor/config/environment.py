"""What environment variables say to a run, and which of them a run gets.

Decides the variables the product reads (project-conventions 11.4), their forms, and how `env` settings join the shell's
variables. Never reads the process: the mapping comes in as a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from compositor.errors import ConfigError
from compositor.types.diagnostics import Diagnostic

from .flags import split_words
from .profile import Effort
from .secret import Secret
from .settings import Settings
from .trust import Trust


class Credential(Struct, frozen=True, kw_only=True):
    """That there is a key, where it came from, and how it travels; the key itself only as a `Secret`."""

    kind: Literal["api_key", "auth_token"]
    variable: str
    secret: Secret


class Environment(Struct, frozen=True, kw_only=True):
    """The variables that take part in the run contract, in their own types. `None` is unset; tokens where a number counts."""

    model: str | None = None
    default_model: str | None = None
    effort: Effort | None = None
    max_output_tokens: int | None = None
    max_context_tokens: int | None = None
    disable_long_context: bool = False
    max_thinking_tokens: int | None = None
    disable_thinking: bool = False
    disable_adaptive_thinking: bool = False
    betas: tuple[str, ...] = ()
    disable_experimental_betas: bool = False
    disable_caching: bool = False
    force_short_ttl: bool = False
    enable_long_ttl: bool = False
    disable_git_instructions: bool | None = None
    disable_instruction_files: bool = False
    additional_instruction_files: bool = False
    disable_automatic_memory: bool | None = None
    max_turns: int | None = None
    auto_compact_window: int | None = None
    auto_compact_percent: int | None = None
    disable_auto_compact: bool = False
    disable_compact: bool = False
    credential: Credential | None = None


class EffectiveEnvironment(Struct, frozen=True, kw_only=True):
    """The variables of the run after settings joined them. It holds what people keep secret: do not print it."""

    variables: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return f"EffectiveEnvironment({len(self.variables)} variables)"


# What a repository nobody vouched for may set: it moves no credential, names no program and loads no code.
HARMLESS: frozenset[str] = frozenset(
    {
        "ANTHROPIC_DEFAULT_MODEL",
        "ANTHROPIC_MODEL",
        "BASH_DEFAULT_TIMEOUT_MS",
        "BASH_MAX_OUTPUT_LENGTH",
        "BASH_MAX_TIMEOUT_MS",
        "CI",
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
        "CLAUDE_CODE_DISABLE_1M_CONTEXT",
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS",
        "CLAUDE_CODE_DISABLE_THINKING",
        "CLAUDE_CODE_EFFORT_LEVEL",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "DEBUG",
        "DISABLE_AUTO_COMPACT",
        "DISABLE_COMPACT",
        "FORCE_COLOR",
        "LANG",
        "LC_ALL",
        "MAX_MCP_OUTPUT_TOKENS",
        "MAX_THINKING_TOKENS",
        "NODE_ENV",
        "NO_COLOR",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
        "TZ",
    }
)


def join_environment(shell: Mapping[str, str], settings: Settings, trust: Trust) -> EffectiveEnvironment:
    """The shell's variables with the `env` settings over them, lowest level first; an empty value takes a variable away.

    The settings of a repository that is not trusted may set only what is `HARMLESS`: anything else could send a key to
    somebody's server or run somebody's program. What they may not set is reported by name, never by value.
    """
    variables = dict(shell)
    notes: list[Diagnostic] = []
    for layer in reversed(settings.layers):
        for name, value in layer.values.get("env", {}).items():
            if layer.shared and trust is not Trust.TRUSTED and name not in HARMLESS:
                message = f"The variable {name!r} is not taken from a repository that is not trusted"
                where = f"{layer.file}:{layer.lines.get(('env', name), 1)}"
                notes.append(Diagnostic("settings.untrusted-env", message, where=where, step="contract"))
            elif value:
                variables[name] = value
            else:
                variables.pop(name, None)
    return EffectiveEnvironment(variables=variables, diagnostics=tuple(notes))


def read_environment(variables: Mapping[str, str]) -> Environment:
    """Read the variables that take part in the contract. Raises `ConfigError` for one that has no meaning."""
    return Environment(
        model=_text(variables, "ANTHROPIC_MODEL"),
        default_model=_text(variables, "ANTHROPIC_DEFAULT_MODEL"),
        effort=_effort(variables, "CLAUDE_CODE_EFFORT_LEVEL"),
        max_output_tokens=_number(variables, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
        max_context_tokens=_number(variables, "CLAUDE_CODE_MAX_CONTEXT_TOKENS", least=1),
        disable_long_context=_switch(variables, "CLAUDE_CODE_DISABLE_1M_CONTEXT") is True,
        max_thinking_tokens=_number(variables, "MAX_THINKING_TOKENS", least=0),
        disable_thinking=_switch(variables, "CLAUDE_CODE_DISABLE_THINKING") is True,
        disable_adaptive_thinking=_switch(variables, "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING") is True,
        betas=split_words(variables.get("ANTHROPIC_BETAS", "")),
        disable_experimental_betas=_switch(variables, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS") is True,
        disable_caching=_switch(variables, "DISABLE_PROMPT_CACHING") is True,
        force_short_ttl=_switch(variables, "FORCE_PROMPT_CACHING_5M") is True,
        enable_long_ttl=_switch(variables, "ENABLE_PROMPT_CACHING_1H") is True,
        disable_git_instructions=_switch(variables, "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"),
        disable_instruction_files=_switch(variables, "CLAUDE_CODE_DISABLE_CLAUDE_MDS") is True,
        additional_instruction_files=_switch(variables, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD") is True,
        disable_automatic_memory=_switch(variables, "CLAUDE_CODE_DISABLE_AUTO_MEMORY"),
        max_turns=_number(variables, "CLAUDE_CODE_MAX_TURNS", least=1),
        auto_compact_window=_number(variables, "CLAUDE_CODE_AUTO_COMPACT_WINDOW", least=1),
        auto_compact_percent=_percent(variables, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"),
        disable_auto_compact=_switch(variables, "DISABLE_AUTO_COMPACT") is True,
        disable_compact=_switch(variables, "DISABLE_COMPACT") is True,
        credential=next(_credentials(variables), None),
    )


_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


def _text(variables: Mapping[str, str], name: str) -> str | None:
    return variables.get(name, "").strip() or None


def _switch(variables: Mapping[str, str], name: str) -> bool | None:
    """True for yes, False for no, `None` for unset; any other word counts as yes, as shells use such variables."""
    word = variables.get(name, "").strip().lower()
    return None if not word else word not in _NO


def _number(variables: Mapping[str, str], name: str, *, least: int) -> int | None:
    text = _text(variables, name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise _bad(name, f"a whole number of at least {least}", text)
    return int(text)


def _percent(variables: Mapping[str, str], name: str) -> int | None:
    number = _number(variables, name, least=1)
    if number is not None and number > 100:
        raise _bad(name, "a whole number from 1 to 100", str(number))
    return number


def _effort(variables: Mapping[str, str], name: str) -> Effort | None:
    text = _text(variables, name)
    if text is None or text.lower() == "auto":
        return None
    try:
        return Effort(text.lower())
    except ValueError:
        raise _bad(name, ", ".join(Effort), text) from None


def _credentials(variables: Mapping[str, str]) -> Iterator[Credential]:
    token, key = _text(variables, "ANTHROPIC_AUTH_TOKEN"), _text(variables, "ANTHROPIC_API_KEY")
    if token:
        yield Credential(kind="auth_token", variable="ANTHROPIC_AUTH_TOKEN", secret=Secret(token))
    if key:
        yield Credential(kind="api_key", variable="ANTHROPIC_API_KEY", secret=Secret(key))


def _bad(name: str, expected: str, got: str) -> ConfigError:
    return ConfigError(
        f"The environment variable {name!r} is not usable: expected {expected}, got {got!r}",
        key=name,
        expected=expected,
        got=got,
        where=f"environment variable {name}",
        hint="Correct the variable or unset it",
    )
