"""The carried state of the relation phase, and the mutable walk that takes it over new messages.

Decides what one message must remember for the next ones. Never judges: the rules are in `blocks.py` and `turns.py`.
"""

from __future__ import annotations

from msgspec import Struct, field

from compositor.types.messages import Part, Role, WireMessage
from compositor.types.persistent import Ledger, Rope

from .rules import Violation
from .wire_context import WireContext


class OpenCall(Struct, frozen=True):
    """A client call that the next message must answer. `block` counts the blocks of its message."""

    id: str
    block: int
    toolset: str | None = None


class ServerCall(Struct, frozen=True):
    """A call that the service answers itself. `name` is that of its tool, `None` for a tool of an MCP server."""

    name: str | None
    block: int


class Section(Struct, frozen=True, kw_only=True):
    """System messages side by side (L35). `start` and `content` are indexes of messages; `before` spoke before them."""

    start: int
    before: Role | None
    content: int | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """The newest assistant message: what the end of the list must know about it.

    `thought` is the block that holds its first thinking; `waiting` are the calls of server tools that have no result yet.
    """

    index: int
    thought: int | None
    has_calls: bool
    is_resumable: bool
    waiting: tuple[ServerCall, ...] = ()
    trailing_space: str | None = None

    @property
    def starts_with_thinking(self) -> bool:
        return self.thought == 0


class LegalityState(Struct, frozen=True, kw_only=True):
    """What the checked messages leave behind for the next ones: an immutable, persistent value.

    `index` is that of the next message. `calls` are the client calls of message `caller` that wait for results;
    `server_pending`: beside them a server tool has none yet; `after_server`: the last block was a server tool or its result.
    `hollow` is an assistant message without content, legal at the end only. `references` are names of tools with the path of
    their use, `defined` the tools that messages define themselves, `large` the images above 2000 pixels with path and side.
    """

    index: int = 0
    previous: Role | None = None
    calls: tuple[OpenCall, ...] = ()
    caller: int = 0
    server_pending: bool = False
    after_server: bool = False
    hollow: int | None = None
    section: Section | None = None
    answer: Answer | None = None
    has_tool_blocks: bool = False
    images: int = 0
    signed_compactions: int = 0
    call_ids: Ledger[str] = field(default_factory=Ledger)
    server_ids: Ledger[str] = field(default_factory=Ledger)
    defined: Ledger[str] = field(default_factory=Ledger)
    references: Rope[tuple[str, str, str]] = field(default_factory=Rope)
    large: Rope[tuple[str, int]] = field(default_factory=Rope)


class Walk:
    """One pass over new messages. It lives inside one call of `check_messages` and is never kept."""

    __slots__ = (
        "after_server",
        "answer",
        "answered",
        "base",
        "caller",
        "calls",
        "context",
        "defined",
        "fallback",
        "has_tool_blocks",
        "hollow",
        "images",
        "index",
        "large",
        "new_call_ids",
        "new_calls",
        "new_server_ids",
        "open_server_calls",
        "parts",
        "previous",
        "references",
        "results",
        "role",
        "section",
        "server_pending",
        "signed_compactions",
        "thought",
        "violations",
    )

    def __init__(self, base: LegalityState, context: WireContext) -> None:
        self.base = base
        self.context = context
        self.violations: list[Violation] = []
        self.index = base.index
        self.previous = base.previous
        self.calls = {call.id: call for call in base.calls}
        self.caller = base.caller
        self.server_pending = base.server_pending
        self.after_server = base.after_server
        self.hollow = base.hollow
        self.section = base.section
        self.answer = base.answer
        self.has_tool_blocks = base.has_tool_blocks
        self.images = base.images
        self.signed_compactions = base.signed_compactions
        # What this pass adds to the persistent parts; a dict keeps order and answers membership.
        self.new_call_ids: dict[str, None] = {}
        self.new_server_ids: dict[str, None] = {}
        self.defined: list[str] = []
        self.references: list[tuple[str, str, str]] = []
        self.large: list[tuple[str, int]] = []
        # What belongs to the message at hand alone.
        self.parts: tuple[Part, ...] = ()
        self.role = Role.USER
        self.new_calls: dict[str, OpenCall] = {}
        self.results: set[str] = set()
        self.answered = 0
        self.open_server_calls: dict[str, ServerCall] = {}
        self.thought: int | None = None
        self.fallback: int | None = None

    def begin(self, message: WireMessage) -> None:
        """Turn to the next message."""
        self.parts = message.parts
        self.role = message.role
        self.answered = 0
        # Always a new one: the old one may be the calls that this message answers.
        self.new_calls = {}
        if self.results:
            self.results = set()
        if self.open_server_calls:
            self.open_server_calls = {}
        self.thought = None
        self.fallback = None

    def place(self, block: int, rest: str = "") -> str:
        """The path of a block of the message at hand."""
        return f"messages[{self.index}].content[{block}]{rest}"

    def report(self, rule: str, path: str, message: str) -> None:
        self.violations.append(Violation(rule, path, message))

    def has_call(self, id: str) -> bool:
        return id in self.new_call_ids or id in self.base.call_ids

    def has_server_call(self, id: str) -> bool:
        return id in self.new_server_ids or id in self.base.server_ids

    def freeze(self) -> LegalityState:
        """The state behind the messages walked so far. The state it began with stays as it was."""
        base = self.base
        return LegalityState(
            index=self.index,
            previous=self.previous,
            calls=tuple(self.calls.values()),
            caller=self.caller,
            server_pending=self.server_pending,
            after_server=self.after_server,
            hollow=self.hollow,
            section=self.section,
            answer=self.answer,
            has_tool_blocks=self.has_tool_blocks,
            images=self.images,
            signed_compactions=self.signed_compactions,
            call_ids=base.call_ids.add_all(self.new_call_ids) if self.new_call_ids else base.call_ids,
            server_ids=base.server_ids.add_all(self.new_server_ids) if self.new_server_ids else base.server_ids,
            defined=base.defined.add_all(self.defined) if self.defined else base.defined,
            references=base.references.append_all(self.references) if self.references else base.references,
            large=base.large.append_all(self.large) if self.large else base.large,
        )
