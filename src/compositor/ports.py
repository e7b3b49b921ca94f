"""Protocols that the edges implement: the only way in which the product touches the world.

Decides the shape of each edge, in the product's own values. An implementation decides nothing: it performs one effect and
reports what happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from .types.entries import TranscriptEntry
from .types.journal import OutcomeRecord, SendRecord
from .types.request import Head, HeadParts
from .types.snapshot import PrefixEvent
from .types.tools import ToolCall, ToolDefinition, ToolOutcome


class Clock(Protocol):
    def now(self) -> str:
        """The current time, ISO 8601 in UTC with milliseconds and a `Z`."""
        ...

    def today(self) -> str:
        """The local calendar date, `YYYY-MM-DD`."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        ...


class ModelResponse(Protocol):
    """An answer whose headers have arrived. `headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive, uncut and unchanged."""
        ...


class ModelTransport(Protocol):
    def send(
        self, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AbstractAsyncContextManager[ModelResponse]:
        """Send exactly `body` (`size` bytes in all). Raises `ProviderUnavailableError` when no answer came."""
        ...


class ToolScope(Struct, frozen=True, kw_only=True):
    """Where a tool may work. All paths are absolute and real.

    `cwd` is the working directory of the session, `roots` the directories in scope (`cwd` first), `output_dir` a private
    folder for large outputs, `env` the environment for child processes.
    """

    cwd: str
    roots: tuple[str, ...]
    output_dir: str
    env: Mapping[str, str]


class Tool(Protocol):
    @property
    def definition(self) -> ToolDefinition: ...

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:
        """The absolute paths that the call would touch, for the gate; empty for a tool that has no path field."""
        ...

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:
        """Perform the call. Never raises for a failure of the tool itself: that is an outcome."""
        ...


class Permission(Struct, frozen=True, kw_only=True):
    """What a person is asked: the call, in one display line, and why."""

    call: ToolCall
    display: str
    reason: str
    suggestion: str | None


class Asker(Protocol):
    async def ask(self, permission: Permission) -> bool:
        """True for yes, once. False for no, and where nobody can be asked."""
        ...


class SessionStore(Protocol):
    """One session, open for appending. A record is acknowledged when the call returns."""

    @property
    def session_id(self) -> str: ...

    @property
    def path(self) -> str: ...

    def append(self, records: Sequence[TranscriptEntry | SendRecord | OutcomeRecord | PrefixEvent]) -> None: ...

    def put_head(self, head: Head) -> None:
        """Keep the parts of `head` under its digest; known ones cost nothing."""
        ...

    def get_head(self, digest: str) -> HeadParts | None: ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh unique id (a UUID in text form)."""
        ...
