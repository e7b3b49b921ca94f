"""Large content beside the records that refer to it: one private file a content, named by its hash (R348 to R354).

Decides where content lies and that it is there before any record names it. What is large and how a reference reads is
`context/transcript/references.py`. Never deletes: that is the garbage collection of sessions.
"""

from __future__ import annotations

from pathlib import Path

from compositor.adapters.home import private_folder, sync_folder, write_private
from compositor.context.transcript.references import Pasted, Reference, is_reference_hash, keep_or_refer
from compositor.errors import TranscriptError, UsageError

FOLDER = "content"


class ContentStore:
    """The contents below one home. `put` writes, `get` reads one file; nothing else touches the disk (R352)."""

    def __init__(self, home: Path, *, durable: bool = False) -> None:
        self._home = home
        self._durable = durable

    def put(self, text: str) -> Pasted:
        """`text` itself when it is small, else its reference, with the content stored before this returns (R350).

        Raises `TranscriptError` when another content is stored under the same hash (R349).
        """
        pasted = keep_or_refer(text)
        if not isinstance(pasted, Reference):
            return pasted
        data = text.encode("utf-8", "surrogatepass")
        path = self._path(pasted.hash)
        try:
            stored = path.read_bytes()
        except FileNotFoundError:
            folder = private_folder(self._home, FOLDER)
            write_private(path, data, durable=self._durable)
            if self._durable:
                sync_folder(folder)
            return pasted
        if stored != data:
            raise TranscriptError(
                f"another content is stored under the hash {pasted.hash!r}",
                where=str(path),
                hint="Remove the file if it is damaged",
            )
        return pasted

    def get(self, reference: Reference) -> str | None:
        """The content, or `None` when it is not stored any more or is not what was stored (R354)."""
        try:
            text = self._path(reference.hash).read_bytes().decode("utf-8", "surrogatepass")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return text if keep_or_refer(text) == reference else None

    def _path(self, name: str) -> Path:
        if not is_reference_hash(name):
            raise UsageError(f"{name!r} is not the hash of a stored content")
        return self._home / FOLDER / name
