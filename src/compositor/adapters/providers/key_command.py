"""A key that a command prints (`apiKeyHelper`), or that stands in a file; asked for when it is needed and again when it has grown old.

Decides how long a key is taken for good. The command is one of the user's or the organization's own settings: a repository cannot name one.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from anyio import to_thread

from compositor.config.secret import Secret
from compositor.errors import ConfigError, ProviderUnavailableError

from .credentials import checked_secret

TTL = 300.0
"""Seconds that a printed key is used before the command is run again."""
_PATIENCE = 30.0
_LONGEST_FILE = 65_536


class KeyCommand:
    """One command line for the shell. `ttl` in seconds, `clock` gives seconds that only grow."""

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        *,
        ttl: float = TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._environment = dict(environment)
        self._ttl = ttl
        self._clock = clock
        self._key: Secret | None = None
        self._until = 0.0

    async def current(self) -> Secret:
        """The key. Raises `ProviderUnavailableError` when the command gives none; what it printed is never repeated."""
        if self._key is None or self._clock() >= self._until:
            self._key = await to_thread.run_sync(self._ask)
            self._until = self._clock() + self._ttl
        return self._key

    def forget(self) -> None:
        """The service refused the key: the next request asks for another one."""
        self._key = None

    def _ask(self) -> Secret:
        try:
            ran = subprocess.run(  # noqa: S603  the command is the user's own setting
                ["/bin/sh", "-c", self._command],
                check=False,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise _failed(f"took longer than {_PATIENCE:g} s") from None
        except OSError as problem:
            raise _failed(f"cannot be run: {problem.strerror}") from problem
        if ran.returncode:
            raise _failed(f"ended with exit code {ran.returncode}")
        key = checked_secret(ran.stdout.decode("utf-8", "replace").strip(), "apiKeyHelper")
        if key is None:
            raise _failed("printed nothing")
        return key


def key_command(command: str, environment: Mapping[str, str]) -> KeyCommand:
    """The command with the lifetime that `CLAUDE_CODE_API_KEY_HELPER_TTL_MS` asks for."""
    asked = environment.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "").strip()
    return KeyCommand(command, environment, ttl=int(asked) / 1000 if asked.isdecimal() else TTL)


def with_key_files(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with the keys whose file is named in it (`ANTHROPIC_API_KEY_FILE`, `ANTHROPIC_AUTH_TOKEN_FILE`); a variable itself wins.

    Raises `ConfigError` for a file that cannot be read.
    """
    found: dict[str, str] = {}
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        path = environment.get(f"{name}_FILE", "").strip()
        if not path or environment.get(name, "").strip():
            continue
        try:
            with Path(path).expanduser().open("rb") as file:
                found[name] = file.read(_LONGEST_FILE).decode("utf-8", "replace").strip()
        except OSError as problem:
            raise ConfigError(
                f"The file of the key cannot be read: {problem.strerror}", key=f"{name}_FILE", path=path
            ) from problem
    return {**environment, **found} if found else environment


def _failed(how: str) -> ProviderUnavailableError:
    return ProviderUnavailableError(
        f"There is no key: the command of 'apiKeyHelper' {how}", hint="Run the command by hand to see what it says"
    )
