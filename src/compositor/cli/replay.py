"""`compositor replay PATH...`: recorded transcripts, ours and of the Claude Code family, as requests, money and cache breaks.

Decides options and tables. Reads transcripts only; keeps what it found in COMPOSITOR_HOME, so that a second run reads what is new.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from compositor.insight.replay.report import Report
    from compositor.insight.replay.simulate import Plan

TABLES = ("project", "model", "day", "session", "cause", "source")


class Dollars(click.ParamType):  # type: ignore[type-arg]  # only newer versions can be subscripted
    """Two prices in dollars, with a slash between."""

    name = "prices"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Input and output; neither may be negative."""
        if isinstance(value, tuple):
            return value
        put, slash, out = str(value).partition("/")
        try:
            found = float(put), float(out)
        except ValueError:
            found = (-1.0, -1.0)
        if not slash or not all(0 <= one < math.inf for one in found):
            self.fail(f"{value!r} is not two prices like 2.5/12", param, ctx)
        return found


@click.command(
    name="replay",
    epilog="Examples: compositor replay   |   compositor replay ~/.claude/projects --by day --html report.html   |   "
    "compositor replay one.jsonl --json",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--by",
    "tables",
    multiple=True,
    type=click.Choice(TABLES),
    help="Which tables to print. Default: project, model and cause.",
)
@click.option("--limit", default=15, show_default=True, type=click.IntRange(1), help="Rows of a table.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with everything.")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the report as one HTML file with charts.",
)
@click.option(
    "--parquet",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write a row for each request (needs the extra 'analytics').",
)
@click.option(
    "--model", "models", multiple=True, metavar="ID", help="Also ask: what if all of it had gone to this model?"
)
@click.option(
    "--compact-at",
    "thresholds",
    multiple=True,
    type=click.IntRange(20_000),
    metavar="TOKENS",
    help="Also ask: what if it had been compacted there?",
)
@click.option(
    "--defer",
    "deferred",
    multiple=True,
    type=click.IntRange(1),
    metavar="TOKENS",
    help="Also ask: what if so much of the tools had been deferred?",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    type=Dollars(),
    metavar="IN/OUT",
    help="Also ask: what if a million tokens cost this much, as in 2.5/12?",
)
@click.option("--no-keep", is_flag=True, help="Neither use nor keep results of single files.")
def command(
    *,
    paths: tuple[str, ...],
    tables: tuple[str, ...],
    limit: int,
    as_json: bool,
    page: str | None,
    parquet: str | None,
    models: tuple[str, ...],
    thresholds: tuple[int, ...],
    deferred: tuple[int, ...],
    prices: tuple[tuple[float, float], ...],
    no_keep: bool,
) -> int:
    """Replay the transcripts at or below each PATH: tokens, money, cache breaks with cause and evidence, and what would have been cheaper.

    Without PATH: ~/.claude/projects and the sessions of this program. Sends nothing and needs no key.
    """
    from compositor.adapters.home import find_home
    from compositor.adapters.replay.parquet import RequestTable
    from compositor.adapters.replay.reading import find_transcripts, replay_files
    from compositor.adapters.settings_files import find_places, load_settings
    from compositor.errors import ExitCode
    from compositor.insight.replay.page import render_page
    from compositor.insight.replay.report import Gathering

    said = load_settings(find_places(os.path.realpath(Path.cwd()), os.environ)).compositor.prices
    home = find_home(os.environ)
    files = find_transcripts(paths or _usual(home))
    gathering = Gathering(plans=_plans(models, thresholds, deferred, prices), said=said)
    with RequestTable.open(parquet) as table, _progress(sum(size for _, size in files)) as advance:
        for replayed in replay_files(files, home=None if no_keep else home, said=said):
            if replayed.session is None:
                gathering.skip(replayed.path, replayed.problem)
            else:
                table.add(replayed.session, gathering.add(replayed.session), said)
            advance(replayed.size)
    report = gathering.report()
    if page is not None:
        Path(page).write_text(render_page(report), encoding="utf-8")
    if as_json:
        click.echo(msgspec.json.encode(report).decode())
    else:
        _print(report, tables or ("project", "model", "cause"), limit)
    for problem in report.problems:
        click.echo(f"left out: {problem.path}: {problem.reason}", err=True)
    if report.totals.files == 0:
        click.echo("There was no transcript to replay.", err=True)
        return ExitCode.FAILED
    return ExitCode.OK


def _usual(home: Path) -> list[str]:
    config = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    return [str(folder) for folder in (config, home / "sessions") if folder.is_dir()]


def _plans(
    models: tuple[str, ...],
    thresholds: tuple[int, ...],
    deferred: tuple[int, ...],
    prices: tuple[tuple[float, float], ...],
) -> list[Plan]:
    from compositor.config.price import find_price
    from compositor.errors import UsageError
    from compositor.insight.replay.simulate import Plan

    for model in models:
        if find_price(model) is None:
            raise UsageError(f"no price is known for {model!r}", hint="`compositor models` lists those that have one")
    return [
        *(Plan(name=f"all on {model}", model=model) for model in models),
        *(Plan(name=f"compact at {tokens:,} tokens", threshold=tokens) for tokens in thresholds),
        *(Plan(name=f"defer {tokens:,} tokens", defer=tokens) for tokens in deferred),
        *(Plan(name=f"all at ${put:g} and ${out:g} a million", prices=(put, out)) for put, out in prices),
    ]


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while there is a person to see it."""
    if not sys.stderr.isatty():
        yield lambda _size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("replaying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("replaying", total=total)
        yield lambda size: progress.advance(task, size)


def _print(report: Report, tables: tuple[str, ...], limit: int) -> None:
    from compositor.cli.replay_tables import print_report

    print_report(report, tables, limit)
