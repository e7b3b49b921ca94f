"""The environment of child processes.

Decides which variables a command may not see: credentials, and what would make bash run code of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEYS?|AUTH_?TOKENS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|KEY|PAT)(?:_|$)"
    r"|^ANTHROPIC_CUSTOM_HEADERS$|^OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS$",
    re.IGNORECASE,
)
# bash reads these at its start: a file to run, options to set, functions to define.
_STARTUP = re.compile(r"^(?:BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PS4|PROMPT_COMMAND)$")

FIXED: Mapping[str, str] = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_EDITOR": "true"}
"""Set for every command: nobody sits at a terminal to leave a pager or an editor."""


def child_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without secrets (by name) and shell start-up hooks, with `FIXED` added."""
    held = withheld(env)
    return {**{name: value for name, value in env.items() if name not in held}, **FIXED}


def withheld(env: Mapping[str, str]) -> frozenset[str]:
    """The variables of `env` that no command may see."""
    return frozenset(name for name in env if is_secret(name) or _STARTUP.match(name))


def is_secret(name: str) -> bool:
    """Whether a variable of this name is taken to hold a credential."""
    return _SECRET.search(name) is not None
