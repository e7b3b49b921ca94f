"""The records of a content search, as lines for the model.

Decides which options of the search program a mode needs, how its records are read, and how a match is written. Pure.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from .output import clean_output

LINE_CHARACTERS: Final = 500
"""A longer line is cut, with a notice in its place."""


class Hit(Struct, frozen=True, kw_only=True):
    """One line of a result. `path` is relative to the searched directory; `number` is 0 where there is none.

    `is_match` is False for a line of context; `matches` counts matching lines.
    """

    path: str
    text: str = ""
    number: int = 0
    is_match: bool = True
    matches: int = 0


class Records(Struct, frozen=True):
    """How one output mode is asked for and read. `pattern` finds whole records, `read` turns one into lines."""

    options: tuple[str, ...]
    pattern: re.Pattern[bytes]
    read: Read


def _read_file(match: re.Match[bytes], *, only_matching: bool) -> Iterator[Hit]:  # noqa: ARG001  # one signature for all
    yield Hit(path=os.fsdecode(match[1]))


def _read_count(match: re.Match[bytes], *, only_matching: bool) -> Iterator[Hit]:  # noqa: ARG001
    yield Hit(path=os.fsdecode(match[1]), matches=int(match[2]))


def _read_lines(match: re.Match[bytes], *, only_matching: bool) -> Iterator[Hit]:
    try:
        record = msgspec.json.decode(match[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    kind, data = record["type"], record["data"]
    if kind not in {"match", "context"}:
        return
    is_match = kind == "match"
    texts = [_text(data["lines"])]
    if only_matching and is_match:
        texts = [_text(part["match"]) for part in data["submatches"]]
    for text in texts:
        for extra, line in enumerate(text.removesuffix("\n").split("\n")):
            yield Hit(
                path=_path(data["path"]),
                text=_cut(line.removesuffix("\r")),
                number=data["line_number"] + extra,
                is_match=is_match,
                matches=int(is_match),
            )


def _text(value: Mapping[str, Any]) -> str:
    """Text, or the bytes of a line that is no UTF-8."""
    return value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", "replace")


def _path(value: Mapping[str, Any]) -> str:
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


def _cut(line: str) -> str:
    if len(line) <= LINE_CHARACTERS:
        return clean_output(line)
    return f"{clean_output(line[:LINE_CHARACTERS])} [line cut: {len(line) - LINE_CHARACTERS:,} more characters]"


Read: TypeAlias = Callable[..., Iterator[Hit]]

RECORDS: Final[Mapping[str, Records]] = {
    "files_with_matches": Records(("--files-with-matches", "--null"), re.compile(rb"([^\0]+)\0"), _read_file),
    "count": Records(("--count", "--null", "--with-filename"), re.compile(rb"([^\0]+)\0(\d+)\n"), _read_count),
    "content": Records(("--json",), re.compile(rb"([^\n]+)\n"), _read_lines),
}
"""By output mode."""
