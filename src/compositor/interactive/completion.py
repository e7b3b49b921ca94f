"""What the tab key offers: commands behind `/`, files behind `@`.

Decides the order: what begins like the typed word comes before what only holds it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from compositor.adapters.git import list_files
from compositor.context.attachments.mentions import quote_mention

MOST = 30
"""Files that are offered at once."""

MOST_FILES = 20_000
FRESH_SECONDS = 10.0
_WORD = re.compile(r"""(?:(?<=\s)|^)@("?)([^\s"]*)$""")


class FileNames:
    """The files below a project, as git knows them; read again when they are older than `FRESH_SECONDS`."""

    def __init__(self, project: str, environ: Mapping[str, str]) -> None:
        self._project = project
        self._environ = environ
        self._names: tuple[str, ...] = ()
        self._read_at = float("-inf")

    def matching(self, typed: str) -> list[str]:
        """At most `MOST` names; folders end in a slash."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            listed = list_files(self._project, self._environ, timeout=2.0)
            self._names = tuple(_with_folders(listed or tuple(_walked(self._project))))
            self._read_at = time.monotonic()
        wanted = typed.lower()
        ranked = [(rank, name) for name in self._names if (rank := _rank(name.lower(), wanted)) is not None]
        return [name for _, name in sorted(ranked, key=lambda one: (one[0], len(one[1]), one[1]))[:MOST]]


class PromptCompleter(Completer):
    """`commands` gives name and help of everything that can stand behind a slash."""

    def __init__(self, commands: Callable[[], Sequence[tuple[str, str]]], files: FileNames) -> None:
        self._commands = commands
        self._files = files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text and "\n" not in text:
            for name, about in self._commands():
                if name.startswith(text[1:]):
                    yield Completion(name, start_position=1 - len(text), display=f"/{name}", display_meta=about)
            return
        found = _WORD.search(text)
        if found is not None:
            for name in self._files.matching(found[2]):
                yield Completion(quote_mention(name), start_position=-len(found[0]), display=name)


def _rank(name: str, wanted: str) -> int | None:
    """0 for a file whose own name begins so, 1 for a path, 2 for what only holds it; `None` for the rest."""
    if name.rstrip("/").rpartition("/")[2].startswith(wanted):
        return 0
    if name.startswith(wanted):
        return 1
    return 2 if wanted in name else None


def _with_folders(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        folder = name.rpartition("/")[0]
        if folder and folder not in seen:
            seen.add(folder)
            yield f"{folder}/"
        yield name


def _walked(project: str) -> Iterator[str]:
    """The files of a folder that is no repository; hidden folders are left out."""
    count = 0
    for folder, names, files in os.walk(project):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for file in sorted(files):
            yield os.path.relpath(os.path.join(folder, file), project)  # noqa: PTH118 - a string in, a string out
            count += 1
            if count >= MOST_FILES:
                return
