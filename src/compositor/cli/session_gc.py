"""`compositor sessions gc`: remove stored heads and contents that nothing refers to.

Decides the words. What garbage is, is decided in `adapters/sessions/garbage.py`.
"""

from __future__ import annotations

import os
import time

import click

from compositor.adapters.home import find_home
from compositor.adapters.sessions.garbage import find_garbage, remove_garbage
from compositor.cli.sessions import readable_size


@click.command(name="gc")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def gc(dry_run: bool) -> None:  # noqa: FBT001
    """Remove heads and pasted contents that no session and no prompt names. Sessions themselves are never removed."""
    garbage = find_garbage(find_home(os.environ), now=time.time())
    for path in garbage.paths:
        click.echo(path)
    if not dry_run:
        remove_garbage(garbage)
    what = "would be removed" if dry_run else "removed"
    count = "1 file" if len(garbage.paths) == 1 else f"{len(garbage.paths)} files"
    click.echo(f"{count}, {readable_size(garbage.size)}: {what}.", err=True)
