"""A client with a book of its own beside a service with a cache of its own: every request is forecast, sent and compared."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

from compositor.config.price import find_price
from compositor.context.cache.book import CacheBook
from compositor.context.cache.clearing import plan_clearing
from compositor.context.cache.forecast import Forecast, plan_forecast
from compositor.context.cache.positions import Line, TokenTally, extend_tally, request_positions, total_tokens
from compositor.context.finish import finish, pinned_mark
from compositor.context.messages.legality import WireContext
from compositor.context.prefix import Prefix, empty_prefix, extend
from compositor.emulator.cache import PromptCache, positions_of
from compositor.emulator.edits import edited
from compositor.emulator.rendering import Sight
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.request import Compiled, RequestOptions, Ttl
from compositor.types.snapshot import Facts
from tests.properties.building import FACTS, HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

MINIMUM = 16
BYTES_PER_TOKEN = 4
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


class Session:
    """One client and one service on one clock."""

    def __init__(self, facts: Facts = FACTS, wire: WireContext = WIRE) -> None:
        self.prefix: Prefix = empty_prefix(HEAD, facts, wire)
        self.options: RequestOptions = OPTIONS
        self.book = CacheBook()
        self.tally = TokenTally()
        self.service = PromptCache()
        self.now = 0.0
        self.number = 0
        self.previous: Compiled | None = None
        self.forgets = False

    def ask(self, results: int = 0, words: int = 20) -> None:
        blocks = tuple(ToolResultBlock(f"t{self.number}_{n}", "word " * words) for n in range(results))
        content = blocks or (TextBlock(f"question {self.number} " + "word " * words),)
        self.extend(UserEntry(uuid=f"u{self.number}", parent=None, time=TIME, content=content))

    def show_image(self) -> None:
        source = raw_json({"type": "base64", "media_type": "image/png", "data": PIXEL})
        self.extend(UserEntry(uuid=f"i{self.number}", parent=None, time=TIME, content=(ImageBlock(source),)))

    def note(self, kind: str, text: str = "the client's own word") -> None:
        note = TextAttachment(kind=kind, text=f"{text} {self.number}")
        self.extend(AttachmentEntry(uuid=f"n{self.number}-{kind}", parent=None, time=TIME, attachment=note))

    def answer(self, calls: int = 0, thoughts: int = 0) -> None:
        self.number += 1
        uses = tuple(ToolUseBlock(f"t{self.number}_{n}", "Read", raw_json({"n": n})) for n in range(calls))
        thinking = tuple(ThinkingBlock(f"hm {n} " * 30, f"sig{self.number}-{n}") for n in range(thoughts))
        entry = AssistantEntry(
            uuid=f"a{self.number}",
            parent=None,
            time=TIME,
            message_id=f"m{self.number}",
            model=MODEL,
            content=(*thinking, TextBlock("answer " * 9), *uses),
            stop_reason="tool_use" if calls else "end_turn",
        )
        self.extend(entry)

    def extend(self, *entries: TranscriptEntry) -> None:
        self.prefix = extend(self.prefix, entries)

    def send(self) -> tuple[Forecast, int, int]:
        """The forecast, and what the service read and wrote by its own rule; the positions of both must be the same."""
        compiled = finish(self.prefix, self.options)
        self.tally = extend_tally(self.tally, compiled.settled)
        line = Line(
            compiled=compiled,
            boundaries=self.prefix.boundaries,
            mark=self.prefix.tail.mark,
            pinned=pinned_mark(self.prefix, self.options),
            images=self.prefix.tail.legality.images > 0,
            tally=self.tally,
            forgets=self.forgets,
        )
        asked = compiled.options.context_management
        clearing = plan_clearing(asked, self.tally.results, compiled.pending, total_tokens(line))
        line = msgspec.structs.replace(line, clearing=clearing)
        positions = request_positions(line)
        forecast = plan_forecast(
            self.book, positions, total=total_tokens(line), minimum=MINIMUM, now=self.now, price=find_price(MODEL)
        )
        self.book = self.book.after(positions, forecast.expected, minimum=MINIMUM, now=self.now)
        sight = Sight(bytes_per_token=BYTES_PER_TOKEN, keeps_thinking=not self.forgets)
        theirs = positions_of(edited(msgspec.json.decode(compiled.body), sight).body, sight=sight)
        use, self.service = self.service.use(theirs, minimum=MINIMUM, now=self.now)
        hit, last = forecast.expected.hit, forecast.expected.last_write
        assert use.read == (theirs[hit.ordinal - 1].tokens if hit is not None else 0)
        end = theirs[last.ordinal - 1].tokens if last is not None else 0
        assert use.read + use.written_5m + use.written_1h == max(end, use.read)
        self.previous = compiled
        return forecast, use.read, use.written_5m + use.written_1h


def turns(session: Session, rng: random.Random, count: int) -> Iterator[Forecast]:
    """Random turns: calls, pauses, and now and then another effort or lifetime."""
    session.ask()
    for _ in range(count):
        forecast, _, _ = session.send()
        yield forecast
        calls = rng.choice([0, 1, 1, 3, 12, 25])
        session.answer(calls)
        session.ask(results=calls, words=rng.choice([2, 20, 200]))
        session.now += rng.choice([1.0, 30.0, 200.0, 400.0])
        if rng.random() < 0.1:
            effort = rng.choice(["low", "high"])
            session.options = msgspec.structs.replace(session.options, output_config=raw_json({"effort": effort}))
        if rng.random() < 0.1:
            session.options = msgspec.structs.replace(session.options, ttl=rng.choice(list(Ttl)))
