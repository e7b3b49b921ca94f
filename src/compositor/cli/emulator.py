"""`compositor emulator`: the stand-in for the Messages API on a port of this machine.

Decides the options, what is printed, and where requests are written down. No model is called.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from compositor.emulator.replies import Recorded

DEFAULT_SCRIPT = "{repeat: true, turns: [{say: 'This is the emulator; no model was called.'}]}"


@click.command(name="emulator", epilog="Example: compositor emulator --port 8080 --script play.yaml --record requests/")
@click.option("--port", default=0, metavar="N", help="The port; any free one by default.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="The address to listen on.")
@click.option(
    "--script",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What the model says and does.",
)
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each request into this folder.",
)
@click.option("--platform", default="claude-api", show_default=True, metavar="P", help="The platform whose rules hold.")
@click.option("--real-time", is_flag=True, help="Let cache entries grow old by the clock, not by the script alone.")
def command(*, port: int, host: str, script: Path | None, record: Path | None, platform: str, real_time: bool) -> None:
    """Serve a stand-in for the Messages API: its wire rules, its prompt cache, and a script that plays the model.

    Any key is taken. Point a client at the printed address, for example with ANTHROPIC_BASE_URL. Ctrl-C ends it.
    """
    from compositor.cli.running import read_script
    from compositor.emulator.asgi import EmulatorApp
    from compositor.emulator.core import Emulator
    from compositor.emulator.profile import catalog
    from compositor.emulator.script import parse_script
    from compositor.emulator.server import EmulatorServer

    play = parse_script(DEFAULT_SCRIPT) if script is None else read_script(str(script))
    emulator = Emulator(play, catalog(platform))
    app = EmulatorApp(emulator, on_request=_watcher(record), clock=time.monotonic if real_time else None)
    server = EmulatorServer(app, host=host, port=port)
    click.echo(f"Listening on {server.url} as {platform}. No model is called.")
    server.run()


def _watcher(record: Path | None) -> Callable[[Recorded], None]:
    """Prints one line for each request, and writes it down where that is wanted."""
    from compositor.emulator.recording import record_bytes

    count = 0
    if record is not None:
        record.mkdir(mode=0o700, parents=True, exist_ok=True)

    def heard(recorded: Recorded) -> None:
        nonlocal count
        count += 1
        click.echo(_line(count, recorded))
        if record is not None:
            (record / f"{count:04}.json").write_bytes(record_bytes(recorded, count))

    return heard


def _line(number: int, recorded: Recorded) -> str:
    request, use, refusal = recorded.request, recorded.use, recorded.refusal
    start = f"{number:4} {recorded.status} {request.method} {request.path} {len(request.body)} bytes"
    if refusal is not None:
        return f"{start}  {refusal.rule or '-'}: {refusal.message[:200]}"
    if use is None:
        return start
    return f"{start}  read {use.read}, written {use.written_5m + use.written_1h}, new {use.fresh}"
