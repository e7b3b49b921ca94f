"""Every exception of the package, and the exit code each one ends a command with. Decides no reaction, logs nothing.

The tree (a house test compares this drawing with the classes):

    CompositorError
        UsageError
        ConfigError
            SettingsError
            PermissionRuleError
            MemoryFileError
        TranscriptError
            TranscriptFormatError
            TranscriptGraphError
            SessionBusyError
        CompileError
            IllegalRequestError
            ContextOverflowError
        ProviderError
            ProviderHTTPError
            StreamProtocolError
            ProviderUnavailableError
        EnforcementError
            HookFailedError
            SandboxUnavailableError
        ToolServerError

What is not here is a value: a denial, a failed tool, a missing attachment, "need more bytes", a retry decision.
An error is inert: building one reads nothing, writes nothing and changes nothing. It survives pickling whole.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What a command tells the shell."""

    OK = 0
    FAILED = 1
    """A check found problems, or the run failed."""
    BAD_INPUT = 2
    """Bad input or configuration: change it and try again."""
    NOTHING_SENT = 3
    """There was no key: the request was compiled and explained, nothing was sent."""
    PROVIDER = 4
    """The provider refused, broke off or could not be reached."""
    ENFORCEMENT = 5
    """A gate could not run, so nothing was let through it."""
    INTERRUPTED = 130
    """The user interrupted the run."""
    TERMINATED = 143
    """SIGTERM ended the run."""


class CompositorError(Exception):
    """The base of all errors of this package; catch it to catch them all.

    `message` is one sentence with identifiers in `repr` form, `where` the place ("settings.json:3", "messages.4.content.0"),
    `hint` what to do next. `str()` gives the three in this order.
    """

    code: ClassVar[str] = "error"
    """Stable name for programs and for the heading in the reference; unique in the tree."""
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    message: str
    where: str | None
    hint: str | None

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"At {self.where}" if self.where else None
        return " ".join(_sentence(part) for part in (self.message, place, self.hint) if part)

    def __reduce__(self) -> tuple[Callable[..., "CompositorError"], tuple[Any, ...]]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


class UsageError(CompositorError, RuntimeError):
    """The caller broke the rules of this package's API; no file and no server is at fault."""

    code = "usage"
    exit_code = ExitCode.BAD_INPUT


class ConfigError(CompositorError):
    """A file a person wrote is wrong.

    `path` as the user knows it, `line` from 1, `key` dotted, `expected` and `got` in words. `where` is made of path, line
    and key unless it is given.
    """

    code = "config"
    exit_code = ExitCode.BAD_INPUT

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        key: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where or _place(path=path, line=line, key=key), hint=hint)
        self.path = path
        self.line = line
        self.key = key
        self.expected = expected
        self.got = got


class SettingsError(ConfigError):
    """A settings file cannot be read as one, or a managed value is not of its type."""

    code = "settings"


class PermissionRuleError(ConfigError):
    """A permission rule that must count cannot be understood; guessing at it would let something through."""

    code = "permission-rule"


class MemoryFileError(ConfigError):
    """A memory file that was asked for by name cannot be used."""

    code = "memory-file"


class TranscriptError(CompositorError):
    """A stored session cannot be used as it is."""

    code = "transcript"
    exit_code = ExitCode.BAD_INPUT


class TranscriptFormatError(TranscriptError):
    """A transcript is of a version or shape we do not read. `line` from 1; `version` as it stands in the file."""

    code = "transcript-format"

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        version: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where or _place(path=None, line=line, key=None), hint=hint)
        self.line = line
        self.version = version


class TranscriptGraphError(TranscriptError):
    """The entries of a transcript do not form a chain. `entry` is the id where it breaks."""

    code = "transcript-graph"

    def __init__(
        self, message: str, *, entry: str | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, where=where or (f"entry {entry!r}" if entry else None), hint=hint)
        self.entry = entry


class SessionBusyError(TranscriptError):
    """Another process is writing this session. `holder` says which one, in words."""

    code = "session-busy"
    exit_code = ExitCode.FAILED

    def __init__(
        self, message: str, *, holder: str | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.holder = holder


class CompileError(CompositorError):
    """No request can be made from this snapshot."""

    code = "compile"


class IllegalRequestError(CompileError):
    """The request would be refused. `rule` is the wire rule's id (L01 to L166), `path` the place in the body."""

    code = "illegal-request"

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        path: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where or path, hint=hint)
        self.rule = rule
        self.path = path

    def __str__(self) -> str:
        place = f"At {self.where}" if self.where else None
        parts = (self.message, place, f"Rule {self.rule}", self.hint)
        return " ".join(_sentence(part) for part in parts if part)


class ContextOverflowError(CompileError):
    """What must be sent does not fit the window, and nothing more can be left out."""

    code = "context-overflow"


class ProviderError(CompositorError):
    """The far side of the wire failed; the request itself is believed to be legal."""

    code = "provider"
    exit_code = ExitCode.PROVIDER


class ProviderHTTPError(ProviderError):
    """An answer that is not a success. `status` from HTTP, `type` the provider's word, `retry_after` in seconds."""

    code = "provider-http"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        type: str | None = None,
        retry_after: float | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status
        self.type = type
        self.retry_after = retry_after


class StreamProtocolError(ProviderError):
    """The answer's event stream broke its own rules or ended before its end."""

    code = "stream-protocol"


class ProviderUnavailableError(ProviderError):
    """The provider could not be reached at all: no address, no connection, no answer in time."""

    code = "provider-unavailable"


class EnforcementError(CompositorError):
    """A gate could not run; the action it guards must not happen."""

    code = "enforcement"
    exit_code = ExitCode.ENFORCEMENT


class HookFailedError(EnforcementError):
    """A guard hook or a managed hook could not be run to a verdict (R371)."""

    code = "hook-failed"


class SandboxUnavailableError(EnforcementError):
    """A sandbox is required and this machine cannot give one."""

    code = "sandbox-unavailable"


class ToolServerError(CompositorError):
    """An MCP server or a language server cannot be used: it is away, wants a login, or is not known."""

    code = "tool-server"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _place(*, path: str | None, line: int | None, key: str | None) -> str | None:
    spot = path if line is None else f"{path}:{line}" if path else f"line {line}"
    return ", ".join(part for part in (spot, f"key {key!r}" if key else None) if part) or None


def _rebuild(cls: type[CompositorError], args: tuple[Any, ...], state: dict[str, Any]) -> CompositorError:
    # Not through the constructor: subclasses, ours and others', may require keywords that `args` does not hold.
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error
