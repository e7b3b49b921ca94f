"""What a replay finds: requests, breaks and sessions, as plain values that can be stored and read again.

Decides the shapes. Tokens are whole numbers, times seconds since 1970 in UTC, money US dollars. `usage` is what the service reported
(confirmed); whatever is called `estimated` was reconstructed from the record.
"""

from __future__ import annotations

import enum

from msgspec import Struct, field

from compositor.types.usage import Usage

VERSION = 1
"""Of these shapes and of the analysis behind them: a stored result of another version is made anew."""


class Cause(enum.StrEnum):
    """Why a cached prefix was not read again."""

    EXPIRY = "expiry"
    COMPACTION = "compaction"
    RESUME = "resume"
    MODEL_SWITCH = "model_switch"
    SETTINGS = "settings_change"
    TOOLS = "tool_change"
    SYSTEM = "system_change"
    HISTORY = "history_change"
    CLEARING = "clearing"
    WIDE_TURN = "wide_turn"
    UNKNOWN = "unknown"


class Event(Struct, frozen=True):
    """Something the record says happened before a request: the cause it would be, and the record's own words."""

    cause: Cause
    detail: str


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. `line` is the first line of its answer, `key` names it in every copy of the transcript.

    `follows` is the position (in `Session.requests`) of the request whose prompt this one begins with, -1 for none; `previous` the one
    before it in the same lane (`lane` is empty for the main conversation, else it names the subagent). `messages` estimates the tokens of
    all messages, `estimated` the whole prompt; `blocks` counts the blocks up to here. `idle` is `None` where a time is missing. `first` and
    `last` are the first and last prompt of an answer that the service made in several rounds; `usage` is the sum that is paid.
    """

    line: int
    key: int
    time: float | None
    lane: str
    model: str
    effort: str = ""
    usage: Usage | None = None
    first: Usage | None = None
    last: Usage | None = None
    follows: int = -1
    previous: int = -1
    messages: int = 0
    estimated: int | None = None
    blocks: int = 0
    idle: float | None = None
    events: tuple[Event, ...] = ()

    @property
    def reports_cache(self) -> bool:
        """Whether the service said what was read and written, and there was a marker to do so."""
        return self.usage is not None and bool(self.usage.read or self.usage.written)

    @property
    def cached(self) -> int:
        """Tokens that stood in the cache behind this request."""
        shown = self.last or self.usage
        return 0 if shown is None else shown.read + shown.written

    @property
    def opening(self) -> Usage | None:
        """What was reported for the prompt as it was sent."""
        return self.first or self.usage


class Break(Struct, frozen=True, kw_only=True):
    """A cached prefix that was paid for again. `request` is its position in the session.

    `expected` tokens had been cached and should have been read, `read` were, `lost` were paid again. `evidence` is one sentence a fact.
    """

    request: int
    cause: Cause
    expected: int
    read: int
    lost: int
    evidence: tuple[str, ...]
    dollars: float | None = None


class Session(Struct, frozen=True, kw_only=True):
    """One transcript file. `sources` are estimated tokens by where they came from; `damaged` counts lines that held no record."""

    path: str
    session_id: str
    project: str
    format: str
    lines: int
    size: int
    requests: tuple[Request, ...] = ()
    breaks: tuple[Break, ...] = ()
    sources: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    version: int = VERSION
