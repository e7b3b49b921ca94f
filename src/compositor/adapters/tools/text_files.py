"""Bytes of a file as text, and back without loss.

Decides encoding, byte-order mark and line ends. Text that is not edited comes back byte for byte.
"""

from __future__ import annotations

import codecs
import re

from msgspec import Struct

_BINARY_WINDOW = 8 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SINGLE_BYTE = ("cp1252", "latin-1")
_REAL_NON_ASCII = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
_LF_ALONE = re.compile(r"(?<!\r)\n")


class TextFile(Struct, frozen=True, kw_only=True):
    """`text` without its mark, line ends as they are. A byte that is no UTF-8 stands as a lone surrogate."""

    text: str
    encoding: str
    errors: str = "strict"
    mark: bytes = b""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends; a file that ends in a line end has no empty line after it."""
        parts = self.text.split("\n")
        if not parts[-1]:
            parts.pop()
        return tuple(part.removesuffix("\r") for part in parts)

    @property
    def uses_crlf(self) -> bool:
        """Whether most lines end in CRLF."""
        crlf = self.text.count("\r\n")
        return crlf > self.text.count("\n") - crlf


def decode_text(data: bytes) -> TextFile | None:
    """`data` as text, or `None` for a binary file.

    UTF-8, UTF-16 with a mark, else one byte a character; a file that is UTF-8 but for some bytes stays UTF-8.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding != "utf-8":
        try:
            return TextFile(text=body.decode(encoding), encoding=encoding, mark=mark)
        except UnicodeDecodeError:
            return None
    if b"\0" in data[:_BINARY_WINDOW]:
        return None
    text = body.decode("utf-8", "surrogateescape")
    if text.isascii() or mark or _REAL_NON_ASCII.search(text):
        return TextFile(text=text, encoding="utf-8", errors="surrogateescape", mark=mark)
    for name in _SINGLE_BYTE:
        try:
            return TextFile(text=body.decode(name), encoding=name)
        except UnicodeDecodeError:
            continue
    return None


def encode_text(text: str, like: TextFile) -> bytes | None:
    """`text` in the encoding and with the mark of `like`; `None` when that encoding lacks one of its characters."""
    try:
        return like.mark + text.encode(like.encoding, like.errors)
    except UnicodeEncodeError:
        return None


def to_lf(text: str) -> str:
    """`text` with CRLF made LF."""
    return text.replace("\r\n", "\n")


def to_crlf(text: str) -> str:
    """`text` with every line end CRLF."""
    return _LF_ALONE.sub("\r\n", text)
