"""Strict JSON with places: one settings document as values, and the line and column of each of them.

Decides what is JSON and says where it stops being so. Comments, trailing commas and anything else beyond RFC 8259 are
errors. Shared with no other kind of file (R119). Never judges a value: that is `layer.py`.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from compositor.errors import SettingsError
from compositor.types.json import decode_json

KeyPath: TypeAlias = tuple[str | int, ...]
"""The way to a value: object keys and array indexes."""


class Document(Struct, frozen=True, kw_only=True):
    """One parsed file. `duplicates` are keys that stand more than once in their object; the last one counts."""

    value: Any
    offsets: Mapping[KeyPath, int]
    breaks: tuple[int, ...]
    duplicates: tuple[KeyPath, ...]

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Line and column, both from 1, of the key or item at `path` or of the nearest thing around it."""
        while path and path not in self.offsets:
            path = path[:-1]
        return _place(self.breaks, self.offsets.get(path, 0))


def parse_document(data: bytes, file: str) -> Document:
    """Parse one document whose top is an object. Raises `SettingsError` with line and column.

    A byte order mark is skipped; lone surrogate escapes become U+FFFD (F07).
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = data[: problem.start].decode("utf-8", "replace")
        got = f"byte 0x{data[problem.start]:02x}"
        raise _Reader(before, file).failure(len(before), "is not valid UTF-8", "UTF-8 text", got) from None
    return _Reader(text, file).document()


_DEEPEST = 64
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_STRING_BODY = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_CONSTANTS = {"true": True, "false": False, "null": None}


class _Reader:
    """Reads one text from front to back; `offsets` and `duplicates` grow on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.offsets: dict[KeyPath, int] = {}
        self.duplicates: list[KeyPath] = []

    def document(self) -> Document:
        start = self.skip(0)
        if start == len(self.text):
            raise self.failure(start, "is empty", "'{'", "the end of the file")
        if self.text[start] != "{":
            self.refuse_comment(start)
            raise self.failure(start, "must hold one JSON object", "'{'", self.seen(start))
        value, end = self.object((), start)
        end = self.skip(end)
        if end < len(self.text):
            self.refuse_comment(end)
            raise self.failure(end, "goes on after the end of its object", "the end of the file", self.seen(end))
        return Document(
            value=value, offsets=self.offsets, breaks=_line_breaks(self.text), duplicates=tuple(self.duplicates)
        )

    def value(self, path: KeyPath, at: int) -> tuple[Any, int]:
        if len(path) > _DEEPEST:
            raise self.failure(at, "is nested too deeply", f"at most {_DEEPEST} levels", "one more")
        match self.text[at : at + 1]:
            case "{":
                return self.object(path, at)
            case "[":
                return self.array(path, at)
            case '"':
                return self.string(at)
        return self.plain(at)

    def object(self, path: KeyPath, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            key_at = at
            key, at = self.key(at)
            inner = (*path, key)
            if key in found:
                self.duplicates.append(inner)
            self.offsets[inner] = key_at
            at = self.expect(":", self.skip(at), f"needs a colon after the key {key!r}")
            found[key], at = self.value(inner, self.skip(at))
            at = self.after_item(at, "}", "an object")
        return found, at + 1

    def array(self, path: KeyPath, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            inner = (*path, len(found))
            self.offsets[inner] = at
            item, at = self.value(inner, at)
            found.append(item)
            at = self.after_item(at, "]", "an array")
        return found, at + 1

    def after_item(self, at: int, closer: str, whole: str) -> int:
        """Past a comma to the next item, or at the closer."""
        at = self.skip(at)
        mark = self.text[at : at + 1]
        if mark == ",":
            following = self.skip(at + 1)
            if self.text[following : following + 1] == closer:
                raise self.failure(at, f"has a comma after the last item of {whole}", repr(closer), "','")
            return following
        if mark != closer:
            self.refuse_comment(at)
            raise self.failure(at, f"has {whole} that does not go on here", f"',' or {closer!r}", self.seen(at))
        return at

    def key(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            self.refuse_comment(at)
            raise self.failure(
                at, "has an object key that is no string in double quotes", "a key in double quotes", self.seen(at)
            )
        return self.string(at)

    def string(self, at: int) -> tuple[str, int]:
        body = _STRING_BODY.match(self.text, at + 1)
        end = body.end() if body else at + 1
        if self.text[end : end + 1] != '"':
            raise self.broken_string(at, end)
        return str(decode_json(self.text[at : end + 1])), end + 1

    def broken_string(self, at: int, end: int) -> SettingsError:
        mark = self.text[end : end + 1]
        if mark == "":
            return self.failure(at, "has a string that is never closed", "a closing '\"'", "the end of the file")
        if mark == "\\":
            known = r"one of \" \\ \/ \b \f \n \r \t \uXXXX"
            return self.failure(end, "has an unknown escape in a string", known, repr(self.text[end : end + 2]))
        if mark in "\r\n":
            return self.failure(
                end, "has a string that does not end on its line", "a closing '\"'", "the end of the line"
            )
        return self.failure(end, "has a raw control character in a string", "an escape", f"U+{ord(mark):04X}")

    def plain(self, at: int) -> tuple[Any, int]:
        number = _NUMBER.match(self.text, at)
        if number is not None:
            return self.number(number), number.end()
        word = _WORD.match(self.text, at)
        if word is not None and word[0] in _CONSTANTS:
            return _CONSTANTS[word[0]], word.end()
        self.refuse_comment(at)
        raise self.failure(at, "has something that is no JSON value", "a JSON value", self.seen(at))

    def number(self, found: re.Match[str]) -> int | float:
        whole = found[0].lstrip("-").isdigit()
        if len(found[0]) > 40 or abs(float(found[0])) == float("inf"):
            raise self.failure(
                found.start(), "has a number out of range", "a number of ordinary size", self.seen(found.start())
            )
        return int(found[0]) if whole else float(found[0])

    def expect(self, mark: str, at: int, problem: str) -> int:
        if self.text[at : at + 1] != mark:
            self.refuse_comment(at)
            raise self.failure(at, problem, repr(mark), self.seen(at))
        return at + 1

    def refuse_comment(self, at: int) -> None:
        if self.text.startswith(("//", "/*", "#"), at):
            raise self.failure(at, "holds a comment, which JSON does not have", "JSON without comments", self.seen(at))

    def skip(self, at: int) -> int:
        space = _SPACE.match(self.text, at)
        return space.end() if space else at

    def seen(self, at: int) -> str:
        """What stands at `at`, in words short enough for one sentence."""
        if at >= len(self.text):
            return "the end of the file"
        word = _WORD.match(self.text, at)
        piece = word[0] if word else self.text[at : at + 1]
        return repr(piece if len(piece) <= 24 else piece[:24] + "...")

    def failure(self, at: int, problem: str, expected: str, got: str) -> SettingsError:
        line, column = _place(_line_breaks(self.text), at)
        return SettingsError(
            f"The settings file {self.file!r} {problem}: expected {expected}, got {got}",
            path=self.file,
            line=line,
            expected=expected,
            got=got,
            where=f"{self.file}:{line}:{column}",
            hint="Correct the file, or move it away to run without it",
        )


def _line_breaks(text: str) -> tuple[int, ...]:
    return tuple(match.end() for match in re.finditer(r"\r\n|\n|\r", text))


def _place(breaks: tuple[int, ...], offset: int) -> tuple[int, int]:
    line = bisect.bisect_right(breaks, offset)
    return line + 1, offset - (breaks[line - 1] if line else 0) + 1
