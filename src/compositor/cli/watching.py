"""What a person sees of a turn while it runs: the answer on standard output, everything else on standard error.

Decides wording and order of the lines. Influences nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from compositor.cli.report import diagnostic_lines, marker_lines, region_lines
from compositor.cli.terminal import fitted, printable
from compositor.context.cache.forecast import headline
from compositor.runtime.events import (
    AgentEnded,
    AgentEvent,
    AgentWorked,
    AnswerEnded,
    CacheExpired,
    CallEnded,
    CallJudged,
    CallProgress,
    Compacted,
    CompactionFailed,
    CompactionProved,
    CompactionStep,
    HeadRenewed,
    Mended,
    NotesCollected,
    OutputWidened,
    PrefixKept,
    PrefixMoves,
    RequestStarted,
    Retrying,
    Streamed,
    TurnResult,
)
from compositor.types.attachments import Attachment, DiffAttachment
from compositor.types.stream import BlockDelta
from compositor.types.tools import OutcomeKind
from compositor.types.usage import Usage
from compositor.types.verdicts import Allow

if TYPE_CHECKING:
    from compositor.config.contract import RunContract


class TextWatcher:
    """Prints a turn. `detailed` shows regions and markers of each request and every finding of the gate, all on standard output."""

    def __init__(self, *, detailed: bool = False) -> None:
        self._detailed = detailed
        self._mid_line = False

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case Streamed(event=BlockDelta(kind="text_delta", delta=delta)):
                self._text(str(msgspec.json.decode(delta)["text"]))
            case RequestStarted() if self._detailed:
                self._request(event)
            case Retrying(notice=notice):
                self.note(f"retry {notice.attempt} of {notice.limit} in {notice.delay:.1f} s: {notice.failure.message}")
            case Mended(cause=cause):
                self.note(f"refused and sent again in another form: {cause}")
            case OutputWidened(before=before, limit=limit):
                self.note(f"the answer was cut at {before:,} tokens; asked once more with {limit:,}")
            case PrefixMoves(move=move, refused=refused) if not refused:
                self.note(f"cache: {move.text}")
            case PrefixKept(fault=text) | CacheExpired(text=text):
                self.note(f"cache: {text}")
            case AnswerEnded():
                self._answer(event)
            case CallJudged():
                self._judged(event)
            case CallProgress(text=text):
                self.note(f"  {text}")
            case CallEnded(outcome=outcome) if outcome.kind is not OutcomeKind.DENIED:
                self.note(f"  {outcome.kind.value}: {outcome.display}")
            case HeadRenewed(event=renewed):
                self.note(f"system prompt made anew ({renewed.name.value}): {renewed.cause}")
            case CompactionStep(ladder=ladder):
                self.note(f"compacting: {ladder.choice.reason}; about {ladder.situation.tokens:,} tokens")
            case Compacted():
                self.note(f"compacted: about {event.after:,} tokens instead of {event.before:,}")
                for omission in event.omissions:
                    self.note(f"  left out: {omission.what}: {omission.reason}")
            case CompactionFailed(reason=reason):
                self.note(f"not compacted: {reason}")
            case CompactionProved(report=report):
                for lost in report.lost:
                    self.note(f"  lost: {lost.kind.value} {lost.name}")
            case AgentEnded(worker=worker, kind=kind):
                self.note(f"[{kind}] {worker} has reported")
            case AgentWorked(event=CallJudged() as judged):
                self.note(f"[{event.kind}] {judged.display}")
            case NotesCollected(attachments=attachments, diagnostics=diagnostics):
                for attachment in attachments:
                    self._attached(attachment)
                for line in diagnostic_lines(diagnostics):
                    self.note(f"  {line}")
            case _:
                pass

    def note(self, line: str) -> None:
        """One line beside the answer."""
        self._end_line()
        stream = sys.stdout if self._detailed else sys.stderr
        click.echo(fitted(printable(line, stream), stream, indent=4), file=stream)

    def _text(self, text: str) -> None:
        click.echo(printable(text, sys.stdout), nl=False)
        self._mid_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._mid_line:
            click.echo()
            self._mid_line = False

    def _request(self, event: RequestStarted) -> None:
        self.note(f"\n── request {event.number} " + "─" * 60)
        for line in (*region_lines(event.compiled), *marker_lines(event.compiled), headline(event.forecast)):
            self.note(line)

    def _answer(self, event: AnswerEnded) -> None:
        if self._detailed:
            cache = event.cache
            lost = f", {cache.lost:,} tokens lost" if cache.lost else ""
            self.note(f"tokens reported: {usage_text(event.message.usage)}")
            self.note(f"cache: {cache.verdict.value.replace('_', ' ')}{lost}: {cache.cause}")
            if cache.said:
                self.note(f"cache, as the service says: {cache.said}")
        for note in event.message.notes:
            self.note(f"note: {note}")
        self._end_line()

    def _attached(self, attachment: Attachment) -> None:
        self.note(f"  + {attachment.kind} {getattr(attachment, 'path', None) or ''}".rstrip())
        if self._detailed and isinstance(attachment, DiffAttachment):
            for line in attachment.diff.splitlines():
                self.note(f"      {line}")

    def _judged(self, event: CallJudged) -> None:
        allowed = isinstance(event.verdict, Allow)
        self.note(f"{'✓' if allowed else '✗'} {event.display}   [{event.verdict.reason}]")
        if self._detailed:
            findings = " → ".join(f"{found.gate.value} {found.finding.value}" for found in event.trace)
            self.note(f"  gate: {findings}")


def usage_text(usage: Usage) -> str:
    """Tokens of a response: what was read from the cache, written to it, and new."""
    return (
        f"{usage.total_input:,} in (cache read {usage.read:,}, written {usage.written:,}, new {usage.input_tokens:,}), "
        f"{usage.output_tokens:,} out"
    )


def money(result: TurnResult, contract: RunContract) -> float | None:
    """US dollars, or `None` where no price is known."""
    from compositor.config.price import billed

    return billed(result.usages, result.models, contract.settings.compositor.prices)


def end_line(result: TurnResult, contract: RunContract) -> str:
    """The last line of a run: tokens, cache, money."""
    dollars = money(result, contract)
    price = "price unknown" if dollars is None else f"${dollars:.4f}"
    plural = "request" if result.requests == 1 else "requests"
    return f"{result.requests} {plural}; {usage_text(result.usage)}; {price}"
