"""`compositor memory`: which instruction files reach the model here, in which order, at what cost, and what is wrong with the others.

Decides how the report reads, and takes answers about imports from outside. Sends nothing; writes nothing but those answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compositor.cli.terminal import fitted
from compositor.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from compositor.context.memory.report import MemoryReport, MemoryRow

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(
    name="memory",
    epilog="Examples: compositor memory   |   compositor memory --for src/app.ts   |   --allow ~/team/rules.md",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: rows, findings, other tools' files, totals.")
@click.option("--for", "wanted", metavar="PATH", help="What applies when work reaches this file, which need not exist.")
@click.option("--allow", metavar="PATH", multiple=True, help="Let this project import a file or folder from outside.")
@click.option("--refuse", metavar="PATH", multiple=True, help="Never import this file or folder here, and stop asking.")
@click.option("--review", is_flag=True, help="Ask about each import from outside that has no answer yet.")
@click.option("--project", metavar="DIR", type=_FOLDER, help="The project directory; the current one by default.")
@click.option("--model", metavar="M", help="Whose prices count.")
@click.option("--settings", metavar="FILE|JSON", help="More settings, from a file or inline.")
@click.option("--setting-sources", metavar="LEVELS", help="Whose files are read, as in --setting-sources user,project.")
@click.option(
    "--add-dir", metavar="DIR", multiple=True, type=_FOLDER, help="One more directory that tools may work in."
)
def command(**values: Any) -> int:
    """Report the instruction files that apply: order, level, imports, size, cost, and what was left out and why."""
    from compositor.adapters.memory_report import MemoryDesk

    desk = MemoryDesk.open(_project(values), _flags(values), os.environ)
    answers = [*((path, True) for path in values["allow"]), *((path, False) for path in values["refuse"])]
    if values["review"]:
        answers += [(path, click.confirm(f"Import {path}?", default=False)) for path in desk.unanswered()]
    for path, allowed in answers:
        desk.remember(str(Path(path).expanduser()), allowed=allowed)
    if answers:
        desk = MemoryDesk.open(_project(values), _flags(values), os.environ)
    report = desk.report(values["wanted"])
    if values["as_json"]:
        click.echo(_json(report))
    else:
        for line in _lines(report, values["wanted"]):
            click.echo(fitted(line, sys.stdout, indent=16))
    return ExitCode.OK


def _project(values: dict[str, Any]) -> str:
    return os.path.realpath(values["project"] or Path.cwd())


def _flags(values: dict[str, Any]) -> Any:
    from compositor.cli.options import flags_from

    if values["wanted"] is not None and "\0" in values["wanted"]:
        raise UsageError("the path after '--for' holds a NUL character, which no file name can")
    return flags_from({**values, "add_dir": tuple(map(str, values["add_dir"]))})


def _json(report: MemoryReport) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def _lines(report: MemoryReport, wanted: str | None) -> Iterator[str]:
    from compositor.context.memory.report import State

    always = [row for row in report.rows if row.state is State.ALWAYS]
    yield (
        f"In every request from {report.cwd}:"
        if always
        else f"No instruction file is in the requests from {report.cwd}."
    )
    yield from _rows(always, report.cwd)
    if always:
        yield f"  {'; '.join(dict.fromkeys(f'{row.level}: {row.sharing}' for row in always))}"
        yield f"  total {report.tokens:,} tokens a request: {_cost(report.cost_cached, report.cost_uncached)}"
    if wanted is not None:
        yield from _section(f"Added when work reaches {wanted}", report, State.APPLIES, empty="nothing more")
    else:
        yield from _section("Added when their folder is reached", report, State.NESTED)
        yield from _section("Rules that wait for a matching file", report, State.WAITS)
        if report.tokens_waiting:
            yield f"  {report.tokens_waiting:,} tokens are in no request until then"
    if report.findings:
        yield ""
        yield "To look at:"
        for found in report.findings:
            yield f"  {found.kind:14} {_short(found.path, report.cwd)}: {found.detail}"
    if report.other_tools:
        yield ""
        yield "Files of other tools:"
        for other in report.other_tools:
            yield f"  {'read' if other.is_read else 'not read':14} {_short(other.path, report.cwd)}"


def _section(title: str, report: MemoryReport, state: Any, empty: str = "") -> Iterator[str]:
    rows = [row for row in report.rows if row.state is state]
    if rows or empty:
        yield ""
        yield f"{title}:"
        yield from _rows(rows, report.cwd)
    if not rows and empty:
        yield f"  {empty}"


def _rows(rows: list[MemoryRow], cwd: str) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        yield f"  {number:3} {row.level:9} {row.bytes:9,} bytes {row.tokens:7,} tokens  {_short(row.path, cwd)}"
        for label, text in (
            ("imported by", " > ".join(_short(path, cwd) for path in row.chain)),
            ("for", ", ".join(row.globs)),
            ("since", row.why),
        ):
            if text:
                yield f"{'':16}{label} {text}"


def _cost(cached: float | None, uncached: float | None) -> str:
    if cached is None or uncached is None:
        return "the price of this model is not known"
    thousand = f"${cached * 1_000:.3f} read from the cache, ${uncached * 1_000:.3f} without one"
    return f"{thousand}, for 1,000 requests"


def _short(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd}/")
