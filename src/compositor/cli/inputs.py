"""From the words on the command line to an opened session: what `run`, `compile` and `explain` have in common.

Decides where the prompt comes from and what stands in for a missing one. Sends nothing, stores nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from compositor.cli.options import checked_text, flags_from, project_folder
from compositor.context.prefix import Prefix
from compositor.errors import UsageError
from compositor.loop.session import Conversation, Stamp, compile_next, prompt_entry, record
from compositor.opened import Opened, Opening, open_session
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.request import Compiled

STDIN = "-"
LARGEST_PROMPT = 10 * 1024 * 1024
"""Bytes that are read from standard input (project-conventions 11.2)."""

NO_PROMPT = "(No prompt was given. This request was compiled to be looked at.)"
_DRY = Stamp("prompt", "1970-01-01T00:00:00.000Z")


class Preview(Struct, frozen=True, kw_only=True):
    """A request as it would be sent, and everything that was worth a remark on the way."""

    opened: Opened
    prefix: Prefix
    compiled: Compiled
    diagnostics: tuple[Diagnostic, ...]


def opening_from(values: Mapping[str, Any], *, interactive: bool = False, project: str | None = None) -> Opening:
    """The opening that the command line asks for."""
    given = [name for name in ("resume", "continue_session", "transcript") if values.get(name)]
    if len(given) > 1:
        first, second = (f"--{name.removesuffix('_session')}" for name in given[:2])
        raise UsageError(f"{first!r} and {second!r} exclude each other", hint="Give one of them")
    return Opening(
        flags=flags_from(values),
        project=project or project_folder(values.get("project")),
        environ=dict(os.environ),
        resume=values.get("resume"),
        continues=bool(values.get("continue_session")),
        transcript=values.get("transcript"),
        interactive=interactive,
        session_id=None if values.get("session_id") is None else str(values["session_id"]),
    )


def read_prompt(given: str | None, *, from_pipe: bool) -> str | None:
    """The prompt: the argument, standard input for `-`, or with `from_pipe` whatever is piped in. Raises `UsageError` for bytes that are no text."""
    if given is not None and given != STDIN:
        return checked_text(given, "The prompt")
    if given is None and not (from_pipe and not sys.stdin.isatty()):
        return None
    data = sys.stdin.buffer.read(LARGEST_PROMPT + 1)
    if len(data) > LARGEST_PROMPT:
        raise UsageError(
            "the prompt on standard input is larger than 10 MB", hint="Put it into a file and name the file"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UsageError("the prompt on standard input is not UTF-8 text", where=f"byte {problem.start}") from None


def preview(values: Mapping[str, Any]) -> Preview:
    """Compile what would be sent for these words. Sends nothing."""
    opened = open_session(opening_from(values))
    prompt = read_prompt(values.get("prompt"), from_pipe=False)
    conversation, notes = with_prompt(opened.conversation, prompt)
    compiled = compile_next(conversation)
    return Preview(
        opened=opened, prefix=conversation.prefix, compiled=compiled, diagnostics=(*opened.diagnostics, *notes)
    )


def with_prompt(conversation: Conversation, prompt: str | None) -> tuple[Conversation, tuple[Diagnostic, ...]]:
    """The conversation with the prompt behind it; a visible stand-in where there is nothing to ask."""
    if prompt is not None and prompt.strip():
        entry = prompt_entry(prompt, stamp=_DRY, parent=conversation.leaf)
        return record(conversation, (entry,)), ()
    entry = prompt_entry(NO_PROMPT, stamp=_DRY, parent=conversation.leaf)
    note = Diagnostic(
        "prompt.missing", "No prompt was given; a stand-in takes its place", severity=Severity.INFO, step="prompt"
    )
    return record(conversation, (entry,)), (note,)


def diagnostics_json(diagnostics: tuple[Diagnostic, ...]) -> list[dict[str, Any]]:
    """Diagnostics as plain data."""
    return [msgspec.to_builtins(found) for found in diagnostics]
