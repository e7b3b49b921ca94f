"""What a person typed, over all sessions: one append-only file, with large pastes in the content store.

Decides how a prompt is stored and read back, newest first. Listing opens no stored content (R352).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from compositor.adapters.content_store import ContentStore
from compositor.adapters.home import open_private, private_folder
from compositor.context.transcript.references import Draft, Pasted, expand
from compositor.types.json import repair_text

NAME = "history.jsonl"


class TypedPrompt(Struct, frozen=True, kw_only=True):
    """One prompt. `project` is the real path it was typed in, `time` ISO 8601 in UTC."""

    time: str
    project: str
    draft: Draft


class PromptHistory:
    """The prompts below one home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._contents = ContentStore(home)

    def add(self, text: str, pastes: Mapping[int, str], *, time: str, project: str) -> TypedPrompt:
        """Store a prompt whose marks stand for `pastes`: contents first, then the record, in one write (R350)."""
        kept: dict[int, Pasted] = {number: self._put(paste) for number, paste in pastes.items()}
        prompt = TypedPrompt(time=time, project=project, draft=Draft(text=repair_text(text), pastes=kept))
        private_folder(self._home)
        descriptor = open_private(self._home / NAME, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(descriptor).st_size
            # A writer that died in the middle of a line must not cost this one.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (b"\n" if torn else b"") + msgspec.json.encode(prompt) + b"\n")
        finally:
            os.close(descriptor)
        return prompt

    def _put(self, paste: str) -> Pasted:
        return self._contents.put(repair_text(paste))

    def newest(self, count: int, *, project: str | None = None) -> tuple[TypedPrompt, ...]:
        """The last prompts, of one project or of all, newest first. A damaged line costs only itself."""
        try:
            lines = (self._home / NAME).read_bytes().split(b"\n")
        except FileNotFoundError:
            return ()
        found = (prompt for line in reversed(lines) if (prompt := _decoded(line)) is not None)
        return tuple(islice((one for one in found if project in {None, one.project}), count))

    def text(self, prompt: TypedPrompt) -> str:
        """The whole text of a prompt; this is where stored contents are read."""
        return expand(prompt.draft, self._contents.get)


def _decoded(line: bytes) -> TypedPrompt | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_decode = msgspec.json.Decoder(TypedPrompt).decode
