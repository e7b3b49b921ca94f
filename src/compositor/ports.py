"""Protocols that the edges implement: the only way in which the product touches the world.

Decides the shape of each edge, in the product's own values. An implementation decides nothing: it performs one effect and
reports what happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from msgspec import Struct

from .config.settings import Settings
from .context.messages.legality import WireContext
from .loop.budget import Spent
from .policy.hook_handlers import Hook
from .policy.hook_output import HookRun
from .types.collected import Collected, Moment
from .types.editor import EditorFacts
from .types.entries import TranscriptEntry
from .types.journal import OutcomeRecord, SendRecord
from .types.request import Head, HeadParts, RequestOptions
from .types.servers import Exchange, ServerListing
from .types.snapshot import EventName, Facts, PrefixEvent
from .types.tools import ToolCall, ToolDefinition, ToolOutcome
from .types.verdicts import PermissionMode, PermissionRule
from .types.web import WebFound, WebQuery


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
    folder for large outputs, `env` the environment for child processes. `confine` gives the words that run a command line
    (its text, its words, its directory) inside the sandbox; the words themselves where there is none. `report` takes a line about how far a
    long call is, for the person watching.
    """

    cwd: str
    roots: tuple[str, ...]
    output_dir: str
    env: Mapping[str, str]
    confine: Callable[[str, tuple[str, ...], str], tuple[str, ...]] = lambda _command, words, _cwd: words
    report: Callable[[str], None] = lambda _text: None


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


class Modes(Protocol):
    """The permission mode of a session that runs."""

    @property
    def mode(self) -> PermissionMode: ...

    def change(self, mode: PermissionMode) -> None:
        """Take another mode because a person wants it; it counts from the next call on."""
        ...


class Presence(Struct, frozen=True, kw_only=True):
    """A person who sits before a session that runs.

    `typed` gives what they typed since the last request and want to go with the next one, `session_rules` the allow rules that they gave
    for this session alone. `hooks` are functions of the program that started it, `calls` the way to them, `exchange` that to servers in it.
    """

    typed: Callable[[], tuple[str, ...]] = tuple
    session_rules: Callable[[], tuple[PermissionRule, ...]] = tuple
    hooks: tuple[Hook, ...] = ()
    calls: HandlerWay | None = None
    exchange: Exchange | None = None


class Question(Struct, frozen=True, kw_only=True):
    """A question to the person: its text, a short label, options (label and what it means), and whether several may be chosen."""

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    several: bool = False


class Interviewer(Protocol):
    async def answer(self, question: Question) -> str | None:
        """The chosen labels, joined by commas, or the person's own words; `None` when nobody answers."""
        ...


class Reply(Struct, frozen=True, kw_only=True):
    """What came of an invocation or a task: a text for the model, or the sentence that says why there is none."""

    text: str = ""
    problem: str = ""


class Assignment(Struct, frozen=True, kw_only=True):
    """A task for an agent of the type `kind`. `background` `None` leaves it to the definition; `call_id` is the call that asks for it, empty for none."""

    kind: str
    prompt: str
    description: str = ""
    model: str = ""
    background: bool | None = None
    worktree: bool = False
    call_id: str = ""


class Employer(Protocol):
    async def start(self, assignment: Assignment) -> Reply:
        """Have a task done: its report, or where it is done beside the conversation the sentence that says so."""
        ...


class SkillInvoker(Protocol):
    async def invoke(self, name: str, arguments: str) -> Reply:
        """Invoke a skill for the model; its text comes to the tail of the next request."""
        ...


class Collector(Protocol):
    async def collect(self, moment: Moment) -> Collected:
        """What the model should be told before its next answer. May be abandoned at a deadline; then the next call finds it again."""
        ...


class Editor(Protocol):
    def facts(self) -> EditorFacts | None:
        """What an editor shows now; `None` when none is there. Called in a thread; may raise `OSError` or `ValueError`."""
        ...


class ToolSource(Protocol):
    async def listings(self) -> tuple[ServerListing, ...]:
        """What the servers of the session offer now. The first call waits a little for those that are still starting."""
        ...

    async def run_command(self, command: str, arguments: Sequence[str]) -> str | None:
        """The text of a server's prompt, called by the name of its command; `None` for no prompt of any of them. May raise."""
        ...


class WebSearcher(Protocol):
    async def search(self, wanted: WebQuery) -> WebFound:
        """Ask whoever searches the web. Never raises for what becomes of the search."""
        ...


class Spending(Protocol):
    """What all sessions spent today."""

    def add(self, spent: Spent) -> None: ...

    def today(self) -> Spent: ...


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


class Renewal(Struct, frozen=True, kw_only=True):
    """A head planned anew in the middle of a session, with the options that go with it, and the event that it is (R071, R073).

    `facts` and `wire` are those of another model, where it is one.
    """

    parts: HeadParts
    options: RequestOptions
    event: PrefixEvent
    facts: Facts | None = None
    wire: WireContext | None = None


class HeadPlanner(Protocol):
    """Plans the head of a running session anew: at reset events, and for sections that are computed for every request."""

    async def due(self, conversation_head: HeadParts) -> Renewal | None:
        """What has to change before the next request; `None` when nothing has."""
        ...

    async def reset(self, conversation_head: HeadParts, name: EventName) -> Renewal:
        """Everything computed anew for a reset event; the tools keep their locked bytes (R240)."""
        ...

    async def switch(self, conversation_head: HeadParts, model: str, cause: str) -> Renewal:
        """The session goes on with another model. Raises `ConfigError` for one that may not be used here."""
        ...


class MemoryFile(Protocol):
    """The memory file of a session, as its helper may work on it."""

    @property
    def path(self) -> str:
        """The real path."""
        ...

    async def prepare(self) -> str:
        """The text as it is now; a file that is not there is made from the template. Raises `OSError`."""
        ...

    def touched(self, call: ToolCall) -> tuple[str, ...]:
        """The real paths that a call means; none where it means no path."""
        ...

    async def edit(self, call: ToolCall) -> ToolOutcome: ...


class Owners(Protocol):
    """The owners of what stands in a session beside its conversation: they hand it over again behind a compaction.

    An async method may fail: then its part is left out and told.
    """

    @property
    def cwd(self) -> str: ...

    @property
    def transcript(self) -> str:
        """The file that holds the whole conversation."""
        ...

    def forget_files(self) -> None:
        """No file counts as read any more."""
        ...

    def saw(self, path: str) -> None:
        """The model was shown the whole of what `reread` gave."""
        ...

    def may_read(self, path: str) -> bool: ...

    async def reread(self, path: str) -> str | None:
        """The text of a file as it is now; `None` for one that is gone or no text."""
        ...

    def instructions(self) -> tuple[tuple[str, str], ...]:
        """The instruction files as path and text, as they were last read."""
        ...

    async def plan(self) -> tuple[str, str]:
        """Path and text of the plan that is being worked on; both empty for none."""
        ...

    async def tasks(self) -> tuple[str, ...]:
        """The open tasks, a line each."""
        ...

    async def settle_memory(self) -> None:
        """Wait for a memory helper under way, within its limit (R332)."""
        ...

    def session_memory(self) -> str:
        """The session's memory file; empty for none."""
        ...


class SettingsChange(Struct, frozen=True, kw_only=True):
    """Settings files that changed while a session runs: the level each belongs to, as hooks know it, and its path.

    `settings` are all settings as they are now; `None` when they cannot be read, and `problem` says why, `where` the place.
    """

    files: tuple[tuple[str, str], ...]
    settings: Settings | None = None
    problem: str = ""
    where: str = ""


HandlerWay: TypeAlias = Callable[[Hook, bytes], Awaitable[HookRun]]
"""Runs handlers of one kind on the input of an event. May raise; the time limit is kept by whoever calls it."""


class HookRunner(Protocol):
    """Runs the handlers of hooks. Never raises for what a handler does; a cancelled run leaves no process behind."""

    async def run(self, hook: Hook, payload: bytes, cwd: str) -> HookRun: ...

    def start(self, hook: Hook, payload: bytes, cwd: str) -> None:
        """Start a handler that nobody waits for; what it said comes with a later `finished`."""
        ...

    def finished(self) -> tuple[tuple[Hook, HookRun], ...]:
        """The handlers started before that have ended since the last call."""
        ...

    def keep(self, text: str) -> str:
        """Store a text that is too long for the model and give its beginning with the place (project-conventions 4.6)."""
        ...

    def close(self) -> None:
        """End what still runs."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh unique id (a UUID in text form)."""
        ...
