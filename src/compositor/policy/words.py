"""Words of a shell line: split at unquoted blanks, the quotes taken off, and whether the shell puts something else there.

Decides what one word says. Knows nothing of operators or commands: those are the business of `shell_parts` and `shell`.
"""

from __future__ import annotations

from msgspec import Struct


class Word(Struct, frozen=True):
    """One word of a command. `literal`: the program is given exactly `text`; otherwise the shell puts something else there.

    `splits`: what the shell puts there may be several words, or none.
    """

    raw: str
    text: str
    literal: bool
    splits: bool = False

    @property
    def known(self) -> str:
        """The text in front of what the shell replaces; all of it for a literal word."""
        if self.literal:
            return self.text
        cuts = [at for sign in "$`*?[{~\x00" if (at := self.text.find(sign)) >= 0]
        return self.text[: min(cuts, default=0)]


def scan_words(raw: str) -> tuple[Word, ...]:
    """Split at unquoted blanks and take the quotes off. Knows nothing of operators: whatever is not plain is not literal."""
    words: list[Word] = []
    start = 0
    while start < len(raw):
        if raw[start] in " \t":
            start += 1
            continue
        word = scan_word(raw, start)
        words.append(word)
        start += len(word.raw)
    return tuple(words)


def scan_word(raw: str, start: int = 0) -> Word:
    """The word that begins at `start`, up to the next unquoted blank."""
    text: list[str] = []
    literal, splits = True, False
    at = start
    while at < len(raw) and raw[at] not in " \t":
        char = raw[at]
        if char == "'":
            end = raw.find("'", at + 1)
            piece, plain, at = (raw[at + 1 : end], True, end + 1) if end >= 0 else (raw[at:], False, len(raw))
        elif char == '"':
            piece, plain, at = _double_quoted(raw, at + 1)
        elif char == "\\":
            piece, plain, at = raw[at + 1 : at + 2] or char, raw[at + 1 : at + 2] not in {"", "\n"}, at + 2
        else:
            piece, plain, at = char, _is_plain(char, raw[at - 1] if at > start else ""), at + 1
            splits = splits or not plain
        text.append(piece)
        literal = literal and plain
    written = raw[start:at]
    literal = literal or written == "{}"
    return Word(written, "".join(text), literal, splits and not literal)


def _double_quoted(raw: str, at: int) -> tuple[str, bool, int]:
    piece: list[str] = []
    plain = True
    while at < len(raw) and raw[at] != '"':
        if raw[at] == "\\" and raw[at + 1 : at + 2] in {"$", "`", '"', "\\"}:
            at += 1
        elif raw[at] in "$`" or raw[at : at + 2] == "\\\n":
            plain = False
        piece.append(raw[at])
        at += 1
    return "".join(piece), plain and at < len(raw), min(at + 1, len(raw))


def _is_plain(char: str, before: str) -> bool:
    if char == "~":
        return before not in {"", "=", ":"}
    return not (char in "$`*?[]{}|&;<>()\n\r" or (char == "#" and before == ""))
