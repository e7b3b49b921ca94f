"""Places and symbols of a language server, as lines for the model.

Decides how columns are counted, what a line shows and how many there are. Reads the files that places name, as far as they may be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from compositor.context.tools.display import one_line
from compositor.types.json import repair_text

from .results import Problem
from .text_files import decode_text

MAX_BYTES: Final = 5 * 1024 * 1024
MAX_LINES: Final = 200
"""Results that one answer shows."""

MAX_HOVER: Final = 10_000
_MAX_TEXT: Final = 200

SYMBOLS: Final = (
    "file module namespace package class method property field constructor enum interface function variable constant string number boolean "
    "array object key null enum-member struct event operator type-parameter"
).split()


def read_source(path: str) -> str | Problem:
    """The text of a file as the server is shown it."""
    try:
        file = Path(path)
        if not file.is_file():
            return Problem(f"{path!r} is no file.")
        if file.stat().st_size > MAX_BYTES:
            return Problem(f"{path!r} is too large for a language server ({MAX_BYTES:,} bytes at most).")
        text = decode_text(file.read_bytes())
    except OSError as problem:
        return Problem(f"{path!r} cannot be read: {problem.strerror or problem}.")
    return Problem(f"{path!r} is no text.") if text is None else repair_text(text.text)


def column_in(text: str, line: int, character: int, *, utf16: bool) -> int:
    """The server's column of a place that is counted from 1 in characters."""
    lines = text.split("\n")
    before = lines[line - 1][: max(character - 1, 0)] if 0 < line <= len(lines) else ""
    return len(before.encode("utf-16-le")) // 2 if utf16 else len(before)


class Places:
    """Turns results into lines. `count` is how many there were, `hidden` how many may not be shown."""

    def __init__(self, is_visible: Callable[[str], bool], name: Callable[[str], str], *, utf16: bool) -> None:
        self._is_visible = is_visible
        self._name = name
        self._utf16 = utf16
        self._lines = lru_cache(maxsize=64)(_lines_of)
        self.count = 0
        self.hidden = 0

    def shown(self, operation: str, found: Any, uri: str) -> list[str]:
        if operation == "hover":
            text = _markup(found.get("contents")) if isinstance(found, Mapping) else ""
            self.count = 1 if text else 0
            return [text[:MAX_HOVER]] if text else []
        rows = found if isinstance(found, list) else [found] if isinstance(found, Mapping) else []
        lines = [line for row in rows if isinstance(row, Mapping) for line in self._row(operation, row, uri)]
        self.count = len(lines) + self.hidden
        more = len(lines) - MAX_LINES
        notes = [f"[{more:,} more are left out.]"] if more > 0 else []
        if self.hidden:
            notes.append(f"[{self.hidden:,} in files that may not be read are left out.]")
        return [*lines[:MAX_LINES], *notes]

    def _row(self, operation: str, row: Mapping[str, Any], uri: str) -> Iterator[str]:
        if operation == "documentSymbol" and "selectionRange" in row:
            yield from self._tree(row, uri, 0)
        elif operation.endswith("Calls"):
            item = row.get("from") or row.get("to")
            if isinstance(item, Mapping):
                yield from self._symbol(item, item.get("uri"), item.get("selectionRange"))
        elif "name" in row:
            place = row.get("location")
            where = place if isinstance(place, Mapping) else {}
            yield from self._symbol(row, where.get("uri", uri), where.get("range"))
        else:
            yield from self._place(
                row.get("targetUri", row.get("uri")), row.get("targetSelectionRange", row.get("range"))
            )

    def _tree(self, row: Mapping[str, Any], uri: str, depth: int) -> Iterator[str]:
        line = _start(row.get("range"))[0] + 1
        last = _start({"start": (row.get("range") or {}).get("end")})[0] + 1
        yield f"{'  ' * depth}{_kind(row)} {_text(row.get('name'))} (lines {line}-{last})"
        for child in row.get("children") or ():
            if isinstance(child, Mapping):
                yield from self._tree(child, uri, depth + 1)

    def _symbol(self, row: Mapping[str, Any], uri: Any, range_: Any) -> Iterator[str]:
        container = row.get("containerName")
        inside = f" in {_text(container)}" if container else ""
        for place in self._place(uri, range_, with_text=False):
            yield f"{place}: {_kind(row)} {_text(row.get('name'))}{inside}"

    def _place(self, uri: Any, range_: Any, *, with_text: bool = True) -> Iterator[str]:
        path = path_of(uri)
        if path is None:
            yield _text(uri)
            return
        if not self._is_visible(path):
            self.hidden += 1
            return
        line, column = _start(range_)
        lines = self._lines(path)
        text = lines[line] if line < len(lines) else ""
        column = len(text.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore")) if self._utf16 else column
        shown = f"{self._name(path)}:{line + 1}:{column + 1}"
        yield f"{shown}: {one_line(text.strip(), _MAX_TEXT)}" if with_text and text.strip() else shown


def path_of(uri: Any) -> str | None:
    """The path of a `file:` address."""
    parts = urlsplit(uri) if isinstance(uri, str) else None
    return unquote(parts.path) if parts is not None and parts.scheme == "file" else None


def _lines_of(path: str) -> tuple[str, ...]:
    text = read_source(path)
    return () if isinstance(text, Problem) else tuple(text.split("\n"))


def _start(range_: Any) -> tuple[int, int]:
    start = range_.get("start") if isinstance(range_, Mapping) else None
    if not isinstance(start, Mapping):
        return 0, 0
    line, column = start.get("line"), start.get("character")
    return (line if isinstance(line, int) else 0, column if isinstance(column, int) else 0)


def _kind(row: Mapping[str, Any]) -> str:
    kind = row.get("kind")
    return SYMBOLS[kind - 1] if isinstance(kind, int) and 0 < kind <= len(SYMBOLS) else "symbol"


def _text(value: Any) -> str:
    return one_line(str(value), _MAX_TEXT)


def _markup(contents: Any) -> str:
    """The text of a hover in any of its three forms."""
    if isinstance(contents, list):
        return "\n".join(filter(None, map(_markup, contents)))
    if isinstance(contents, Mapping):
        contents = contents.get("value")
    return repair_text(contents).strip() if isinstance(contents, str) else ""
