"""What of a Markdown text reaches the model, and which files it imports.

Decides two things with one reading of the text: block-level HTML comments go (R143), and `@path` outside code is an import (R133, R134).
An import inside a comment is none (R146). Never resolves a path.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class Piece(Struct, frozen=True):
    """Consecutive text of a file; `line` is the line of the file where it begins (from 1)."""

    line: int
    text: str


class ImportMark(Struct, frozen=True):
    """`@spec` on a line of the file (from 1)."""

    spec: str
    line: int


class MarkdownText(Struct, frozen=True):
    """The pieces make the text that is left. `unclosed` is the line of a comment that never ends: it stays, as plain text."""

    pieces: tuple[Piece, ...]
    imports: tuple[ImportMark, ...]
    unclosed: int | None = None


# At the start or after a blank or an opening bracket; a blank in a path is written with a backslash.
_IMPORT = re.compile(r"(?<![^\s(\[])@((?:\\ |[^\s\\\0\"'<>|*?`]){1,1024})")
Range: TypeAlias = tuple[int, int]

_BRACKETS = {")": "(", "]": "["}


def read_markdown(text: str, first_line: int = 1) -> MarkdownText:
    """Strip comments and find imports in `text` (line feeds only), whose first line is `first_line` of its file."""
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    if "@" not in text and "<!--" not in text:
        return MarkdownText(_pieces(text, (), starts, first_line), ())
    comments: list[Range] = []
    imports: list[ImportMark] = []
    unclosed: int | None = None
    for token in _parser().parse(text):
        if token.type == "inline" and token.map:
            imports.extend(_imports(token.children or (), first_line + token.map[0]))
        elif token.type == "html_block" and token.map:
            begin, end = starts[token.map[0]], starts[token.map[1]]
            found, open_at = _comments(text, begin, end)
            comments.extend(found)
            if open_at is not None and unclosed is None:
                unclosed = first_line + _line_at(starts, open_at)
            visible = _without(text, begin, end if open_at is None else open_at, found)
            imports.extend(_html_imports(visible, first_line + token.map[0]))
    return MarkdownText(_pieces(text, comments, starts, first_line), tuple(imports), unclosed)


def find_section(text: str, title: str) -> str:
    """What stands under the first heading `title` (case and a trailing colon do not count), up to the next heading of its level or above.

    Headings inside code are none. Empty when there is no such section.
    """
    tokens = _parser().parse(text)
    headings = [
        (int(token.tag[1:]), token.map, tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]
    for at, (level, span, words) in enumerate(headings):
        if words.strip().rstrip(":").strip().lower() == title:
            following = (place[0] for deep, place, _ in headings[at + 1 :] if deep <= level)
            return "\n".join(text.split("\n")[span[1] : next(following, None)]).strip()
    return ""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only what tells code, comments and text apart: without links and emphasis a path stays in one piece, and no input is slow.
    parser = MarkdownIt("commonmark")
    return parser.disable(["reference", "link", "image", "emphasis", "entity", "text_join"])


def _comments(text: str, begin: int, end: int) -> tuple[list[Range], int | None]:
    """The comments in a stretch of HTML, neighbors joined; and where one begins that is never closed."""
    found: list[Range] = []
    start = text.find("<!--", begin, end)
    while start >= 0:
        close = text.find("-->", start + 2, end)
        if close < 0:
            return found, start
        if found and not text[found[-1][1] : start].strip(" \t"):
            found[-1] = (found[-1][0], close + 3)
        else:
            found.append((start, close + 3))
        start = text.find("<!--", close + 3, end)
    return found, None


def _without(text: str, begin: int, end: int, comments: Sequence[Range]) -> str:
    """The stretch without its comments; their line breaks stay, so that lines keep their numbers."""
    parts: list[str] = []
    for start, stop in comments:
        parts += [text[begin:start], "\n" * text.count("\n", start, stop)]
        begin = stop
    return "".join([*parts, text[begin:end]])


def _html_imports(html: str, line: int) -> Iterator[ImportMark]:
    for offset, row in enumerate(html.split("\n")):
        if "@" in row:
            for token in _parser().parseInline(row.strip()):
                yield from _imports(token.children or (), line + offset)


def _imports(tokens: Sequence[Token], line: int) -> Iterator[ImportMark]:
    """Imports in the running text of one block. What is not text (code, tags) leaves a NUL, which no path crosses."""
    for offset, row in enumerate("".join(map(_running_text, tokens)).split("\n")):
        for found in _IMPORT.finditer(row):
            spec = _without_punctuation(found[1]).replace("\\ ", " ")
            if spec:
                yield ImportMark(spec, line + offset)


def _running_text(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    if token.type == "text" or (token.type == "text_special" and token.content != "@"):
        return token.content
    return "\0" + "\n" * token.content.count("\n")


def _without_punctuation(spec: str) -> str:
    """`spec` without what belongs to the sentence around it."""
    while spec and (
        spec[-1] in ".,;:!" or (spec[-1] in _BRACKETS and spec.count(spec[-1]) > spec.count(_BRACKETS[spec[-1]]))
    ):
        spec = spec[:-1]
    return spec


def _line_at(starts: Sequence[int], offset: int) -> int:
    """The line of an offset, from 0."""
    return bisect_right(starts, offset, hi=len(starts) - 1) - 1


def _pieces(text: str, removed: Sequence[Range], starts: Sequence[int], first_line: int) -> tuple[Piece, ...]:
    """What is left of `text` without the ranges; a line that is blank without its comment goes whole. No blank lines at either end."""
    pieces: list[Piece] = []
    begin, end = 0, len(text)
    for start, stop in [*(_whole_lines(text, *comment) for comment in removed), (end, end)]:
        if begin < start:
            pieces.append(Piece(first_line + _line_at(starts, begin), text[begin:start]))
        begin = max(begin, stop)
    return _trimmed(pieces)


def _whole_lines(text: str, start: int, stop: int) -> Range:
    line_start = text.rfind("\n", 0, start) + 1
    line_stop = text.find("\n", stop)
    line_stop = len(text) if line_stop < 0 else line_stop + 1
    is_alone = not text[line_start:start].strip() and not text[stop:line_stop].strip()
    return (line_start, line_stop) if is_alone else (start, stop)


def _trimmed(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Without blank lines before the first text and without white space after the last."""
    rest = list(pieces)
    while rest and not rest[-1].text.strip():
        rest.pop()
    while rest and not rest[0].text.strip():
        rest.pop(0)
    if not rest:
        return ()
    first = rest[0]
    blank = len(first.text) - len(first.text.lstrip())
    blank = first.text.rfind("\n", 0, blank) + 1
    rest[0] = Piece(first.line + first.text.count("\n", 0, blank), first.text[blank:])
    rest[-1] = Piece(rest[-1].line, rest[-1].text.rstrip())
    return tuple(rest)
