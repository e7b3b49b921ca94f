"""`compositor chat`: the interactive prompt; what `compositor` starts by itself on a terminal.

Decides that there is a terminal to prompt on. What happens there is `interactive`.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from compositor.cli.options import chat_options


@click.command(
    name="chat",
    epilog="Examples: compositor   |   compositor -c   |   compositor chat --model opus --permission-mode plan",
)
@chat_options
def command(**values: Any) -> int:
    """Talk with the agent in this directory: type prompts, answer its questions, look into everything it does.

    /help lists the commands and keys. `compositor` alone starts it on a terminal; -c goes on with the newest session here.
    """
    from compositor.errors import UsageError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the prompt needs a terminal", hint="Use 'compositor run PROMPT' in a script or a pipe")
    from compositor.interactive.start import start

    return start(values)
