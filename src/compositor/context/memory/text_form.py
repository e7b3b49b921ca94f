"""From the bytes of a file to text in its normal form: no byte order mark, line feeds only.

Decides what counts as text and how damage is made visible. Never cuts.
"""

from __future__ import annotations

from msgspec import Struct


class PlainText(Struct, frozen=True):
    """Text with line feeds as line ends and no byte order mark. `damaged_line` is the first line (from 1) that was not legal UTF-8."""

    text: str
    damaged_line: int | None = None


_WIDE = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decode_text(data: bytes) -> PlainText | None:
    """Decode a text file; `None` for a binary one (F21, R142, R147).

    UTF-8, or UTF-16 with a byte order mark. Illegal bytes become U+FFFD. A NUL byte makes a file binary.
    """
    for mark, encoding in _WIDE:
        if data.startswith(mark):
            text = data[2:].decode(encoding, "replace")
            return None if "\0" in text else PlainText(_normal(text), _damage(text, "\ufffd"))
    if b"\0" in data:
        return None
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return PlainText(_normal(body.decode()))
    except UnicodeDecodeError as problem:
        line = _normal(body[: problem.start].decode()).count("\n") + 1
        return PlainText(_normal(body.decode("utf-8", "replace")), line)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _damage(text: str, sign: str) -> int | None:
    place = text.find(sign)
    return None if place < 0 else _normal(text[:place]).count("\n") + 1
