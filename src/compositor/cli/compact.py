"""`compositor compact SESSION`: summarize a session, look at what that would do, or take it back.

Decides the words. What a compaction is, and what it keeps, is `context/compaction`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from compositor.context.compaction.kept import Kept
    from compositor.context.compaction.ladder import Ladder
    from compositor.opened import Opened
    from compositor.runtime.events import AgentEvent, Compacted


@click.command(
    name="compact",
    epilog="Examples: compositor compact 1f0c9a3e --preview   |   compositor compact 1f0c9a3e 'the parser' --pin 77ab",
)
@click.argument("session")
@click.argument("focus", required=False, default="")
@click.option("--preview", is_flag=True, help="Show what goes, what stays and what it costs; change nothing.")
@click.option("--undo", is_flag=True, help="Take the newest compaction back; what was said since stays as a branch.")
@click.option("--pin", "pins", multiple=True, metavar="ENTRY", help="Keep the text of this entry word for word.")
@click.option("--records", is_flag=True, help="Without a model: list prompts, files and commands instead.")
@click.option("--offline", metavar="SCRIPT", help="A script plays the model; for trying it out.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), default=None, help="The project directory.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(**values: Any) -> int:
    """Replace what SESSION holds by a summary that looks at FOCUS; the transcript keeps every message.

    SESSION is an id, or the beginning of one.
    """
    from compositor.errors import UsageError

    if values["undo"] and (values["preview"] or values["pins"] or values["focus"] or values["records"]):
        raise UsageError("'--undo' goes alone", hint="Give the session and '--undo', nothing else")
    if values["undo"]:
        return _undo(str(values["session"]), values["project"])
    return _preview(values) if values["preview"] else _compact(values)


def _undo(session: str, project: str | None) -> int:
    from compositor.adapters.home import find_home
    from compositor.adapters.sessions.changing import undo_compaction
    from compositor.adapters.sessions.reading import find_session
    from compositor.cli.options import project_folder

    home = find_home(os.environ)
    source = find_session(home, session, cwd=project_folder(project))
    event = undo_compaction(home, source)
    click.echo(f"Session {source.stem} goes on from entry {event.entry}, as before the compaction.")
    return 0


def _opened(values: dict[str, Any]) -> Opened:
    from compositor.cli.options import project_folder
    from compositor.config.flags import Flags
    from compositor.opened import Opening, open_session

    opening = Opening(
        flags=Flags(),
        project=project_folder(values["project"]),
        environ=dict(os.environ),
        resume=str(values["session"]),
    )
    return open_session(opening)


def _preview(values: dict[str, Any]) -> int:
    from compositor.cli.compacting import preview

    ladder, kept = preview(_opened(values), str(values["focus"]))
    if values["as_json"]:
        click.echo(msgspec.json.encode(_previewed(ladder, kept)).decode())
        return 0
    for line in preview_lines(ladder, kept):
        click.echo(line)
    return 0


def preview_lines(ladder: Ladder, kept: Kept) -> list[str]:
    """What would go, what would stay, and every step with gain and cost."""
    from compositor.context.compaction.ladder import after

    situation = ladder.situation
    lines = [
        f"next request: about {situation.tokens:,} tokens; a compaction starts by itself at {situation.budget.start:,}",
        f"summarized: {len(kept.before)} entries; kept word for word: {len(kept.entries)} (about {situation.kept:,} tokens)",
        f"untouched: tools, system prompt and instruction files (about {situation.fixed:,} tokens)",
        "",
        f"{'step':15} {'frees':>9} {'leaves':>9} {'dollars':>9}  why",
    ]
    for option in ladder.options:
        mark = "→" if option.step is ladder.chosen else " " if option.possible else "✗"
        dollars = "?" if option.dollars is None else f"{option.dollars:.4f}"
        lines.append(
            f"{mark} {option.step.value:13} {option.gain:9,} {after(situation, option):9,} {dollars:>9}  {option.reason}"
        )
    lines += [f"left out: {one.what}: {one.reason}" for one in kept.omissions]
    return lines


def _previewed(ladder: Ladder, kept: Kept) -> dict[str, Any]:
    return {
        "tokens": ladder.situation.tokens,
        "budget": ladder.situation.budget,
        "summarized": [entry.uuid for entry in kept.before],
        "kept": [entry.uuid for entry in kept.entries],
        "chosen": ladder.chosen,
        "options": ladder.options,
    }


def _compact(values: dict[str, Any]) -> int:
    from compositor.adapters.project_copy import is_copy
    from compositor.cli.compacting import Request, compact_session, pinned
    from compositor.cli.running import read_script, real_line, scripted_line
    from compositor.cli.watching import TextWatcher
    from compositor.errors import ExitCode, UsageError

    opened = _opened(values)
    if values["offline"] and not is_copy(opened.around.cwd):
        raise UsageError(
            "a script would write into a session that a model played",
            hint="Take '--offline' only with '--project' naming the copy that a scripted run worked on",
        )
    request = Request(
        focus=str(values["focus"]), pins=pinned(opened, values["pins"]), by_records=bool(values["records"])
    )
    line = scripted_line(read_script(values["offline"]), opened) if values["offline"] else real_line(opened)
    if not line.is_ready and not line.emulator and not request.by_records:
        raise UsageError(
            "there is no key, and a summary needs a model",
            hint="Set ANTHROPIC_API_KEY, or take '--records', which needs none",
        )
    show = TextWatcher()

    def watch(event: AgentEvent) -> None:
        if not values["as_json"]:
            show(event)

    done = compact_session(opened, request, line, watch)
    if values["as_json"]:
        click.echo(msgspec.json.encode(done).decode())
    elif done is not None:
        _print_done(opened, done, line.emulator is not None)
    return ExitCode.FAILED if done is None else ExitCode.OK


def _print_done(opened: Opened, done: Compacted, offline: bool) -> None:  # noqa: FBT001
    click.echo(f"\nabout {done.before:,} tokens before, {done.after:,} after; summary by {done.method}", err=True)
    session = opened.header.session_id
    click.echo(f"Take it back: compositor compact {session[:8]} --undo", err=True)
    if offline:
        click.echo("The summary is the script's.", err=True)
