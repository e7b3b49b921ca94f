"""How the report of a replay reads on a terminal. Decides columns and sentences."""

from __future__ import annotations

from collections.abc import Callable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compositor.insight.replay.report import Report
from compositor.insight.replay.totals import Row, ranked

BREAKS = 8


def print_report(report: Report, tables: tuple[str, ...], limit: int) -> None:
    """Summary, tables, plans, advice and the dearest breaks on standard output."""
    console = Console()
    _summary(report)
    known = dict(report.tables())
    for name in tables:
        if name == "source":
            _sources(console, report.totals.sources, limit)
        elif known[name]:
            _rows(console, name, known[name], limit)
    _plans(console, report)
    _advice(report)
    _breaks(report)


def _summary(report: Report) -> None:
    totals, row = report.totals, report.totals.all
    ratio = "?" if row.hit_ratio is None else f"{row.hit_ratio:.1%}"
    click.echo(
        f"{totals.files:,} files ({totals.size / 1e6:,.1f} MB, {totals.damaged:,} damaged lines), {row.requests:,} requests, "
        f"{totals.copies:,} copies not counted again"
    )
    click.echo(
        f"confirmed: ${row.dollars:,.2f} (${row.uncached:,.2f} without a cache), {ratio} of the prompt tokens read from the cache; "
        f"{row.unknown:,} requests without usage or price are in no sum"
    )
    accuracy = totals.accuracy
    if accuracy.median_error is not None:
        total = accuracy.estimated / accuracy.reported - 1
        click.echo(
            f"estimated: {accuracy.compared:,} prompts reconstructed, median error {accuracy.median_error:.1%}, {total:+.1%} in all"
        )
    click.echo(f"breaks: {row.breaks:,}, {row.lost:,} tokens paid again, ${row.wasted:,.2f}")


def _rows(console: Console, title: str, rows: dict[str, Row], limit: int) -> None:
    # A cause has breaks only; a narrow terminal keeps what decides.
    columns = COLUMNS[-3:] if title == "cause" else COLUMNS if console.width >= _WIDE else (COLUMNS[0], *COLUMNS[5:])
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, overflow="fold", min_width=24)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    order = sorted(rows.values(), key=lambda row: -row.lost) if title == "cause" else ranked(rows)
    for row in order[:limit]:
        table.add_row(Text(row.name), *(cell(row) for _, cell in columns))
    click.echo()
    console.print(table)
    if len(rows) > limit:
        click.echo(f"... and {len(rows) - limit:,} more (--limit)")


COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("requests", lambda row: f"{row.requests:,}"),
    ("read", lambda row: f"{row.read:,}"),
    ("written", lambda row: f"{row.written:,}"),
    ("new", lambda row: f"{row.fresh:,}"),
    ("out", lambda row: f"{row.output:,}"),
    ("hits", lambda row: "?" if row.hit_ratio is None else f"{row.hit_ratio:.0%}"),
    ("dollars", lambda row: "?" if row.unknown == row.requests else f"{row.dollars:,.2f}"),
    ("breaks", lambda row: f"{row.breaks:,}"),
    ("lost", lambda row: f"{row.lost:,}"),
    ("paid again", lambda row: f"${row.wasted:,.2f}"),
)
_WIDE = 120


def _sources(console: Console, sources: dict[str, int], limit: int) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source (estimated)", overflow="fold")
    table.add_column("tokens", justify="right", no_wrap=True)
    for name, tokens in list(sources.items())[:limit]:
        table.add_row(Text(name), f"{tokens:,}")
    click.echo()
    console.print(table)


def _plans(console: Console, report: Report) -> None:
    base = report.outcomes[0]
    if not base.requests or not base.dollars:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("what if (estimated)", overflow="fold")
    for name in ("read", "written", "new", "dollars", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in report.outcomes:
        usage = outcome.usage
        change = "" if outcome is base else f"{outcome.dollars / base.dollars - 1:+.1%}"
        table.add_row(
            outcome.plan,
            f"{usage.read:,}",
            f"{usage.written:,}",
            f"{usage.input_tokens:,}",
            f"{outcome.dollars:,.2f}",
            change,
        )
    click.echo()
    console.print(table)


def _advice(report: Report) -> None:
    if report.advice:
        click.echo("\nchange, and what it saves (estimated)")
    for number, one in enumerate(report.advice, start=1):
        click.echo(f"{number:2}. ${one.saves:,.2f}  {one.change}: {one.because}")


def _breaks(report: Report) -> None:
    if report.breaks:
        click.echo("\ndearest breaks")
    for one in report.breaks[:BREAKS]:
        dollars = "?" if one.found.dollars is None else f"${one.found.dollars:,.2f}"
        click.echo(f"  {dollars}  {one.found.cause.value}  {one.path}:{one.line}")
        for sentence in one.found.evidence:
            click.echo(f"      {sentence}")
