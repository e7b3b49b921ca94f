"""`compositor acp`: an agent for editors that speak the Agent Client Protocol.

Decides the flags of the server and how it ends. Standard output belongs to the protocol; nothing else may write there.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import click

from compositor.cli.options import flags_from, session_options
from compositor.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from compositor.acp.server import Serving
    from compositor.opened import Opened
    from compositor.ports import ModelTransport

_LAST_SECONDS = 5.0
"""How long turns that are stopped at the end may take to be stored."""
_LINE_BYTES = 64 * 1024 * 1024
"""The longest message of an editor: room for pictures."""


@click.command(name="acp", epilog="""Example, in the settings of an editor: "command": "compositor", "args": ["acp"]""")
@session_options
@click.option(
    "--editor-terminal",
    is_flag=True,
    help="Run commands in a terminal of the editor, where it has one, and not as children of this program.",
)
def command(*, editor_terminal: bool, **values: Any) -> int:
    """Serve an editor over standard input and output with the Agent Client Protocol; sessions are opened as it asks for them."""
    try:
        import acp  # noqa: F401
    except ImportError:
        raise UsageError(
            "the package 'agent-client-protocol' is not installed",
            hint="Install it with: pip install 'compositor[acp]'",
        ) from None
    from compositor.acp.server import Serving

    serving = Serving(environ=dict(os.environ), flags=flags_from(values), connect=_connect, terminals=editor_terminal)
    return anyio.run(partial(_serve, serving))


def _connect(opened: Opened) -> AbstractAsyncContextManager[ModelTransport]:
    """The line to the model of a session. Raises `UsageError` without a key."""
    from compositor.cli.running import real_line

    line = real_line(opened)
    if not line.is_ready:
        raise UsageError(
            "there is no key", hint="Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN where the editor starts this program"
        )
    return line.transport()


async def _serve(serving: Serving) -> int:
    """Serve until the editor closes our input or a signal comes; turns under way are stopped and stored."""
    from acp import stdio_streams
    from acp.agent.connection import AgentSideConnection

    from compositor.acp.server import EditorServer

    reader, writer = await stdio_streams(limit=_LINE_BYTES)
    stopped: list[int] = []
    async with anyio.create_task_group() as watching:
        async with anyio.create_task_group() as sessions:
            server = EditorServer(serving, sessions)
            # It has what it announces; methods that it does not have are answered as unknown.
            handlers: Any = server
            connection = AgentSideConnection(handlers, writer, reader, listening=False)
            with anyio.CancelScope() as listening:
                watching.start_soon(_until_signal, stopped, listening)
                await connection.listen()
            server.end()
            sessions.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS
        await connection.close()
        watching.cancel_scope.cancel()
    return stopped[0] if stopped else ExitCode.OK


async def _until_signal(stopped: list[int], listening: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            stopped.append(ExitCode.TERMINATED if number == signal.SIGTERM else ExitCode.INTERRUPTED)
            listening.cancel()
