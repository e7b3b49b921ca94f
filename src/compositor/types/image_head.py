"""What the first bytes of an image say about it: its type and its size in pixels.

Decides nothing. Never decodes a picture; reads the head of the base64 text only, and of a JPEG as much as comes before its frame header.
"""

from __future__ import annotations

import binascii
from typing import NamedTuple

_HEAD = 64
# A JPEG's frame header stands behind its metadata, which may hold a whole preview.
_JPEG_HEAD = 512 * 1024


class ImageHead(NamedTuple):
    """`media_type` as on the wire; sides in pixels."""

    media_type: str
    width: int
    height: int


def read_image_head(data: str) -> ImageHead | None:
    """Type and size out of base64 text, or `None` where they cannot be seen."""
    head = decode_start(data, _HEAD)
    if head.startswith(b"\xff\xd8"):
        return _read_jpeg(decode_start(data, _JPEG_HEAD))
    for reader in (_read_png, _read_gif, _read_webp):
        found = reader(head)
        if found is not None:
            return found
    return None


def decode_start(data: str, size: int) -> bytes:
    """The first bytes of base64 text, about `size` of them; none where it is no base64."""
    # Whole quantums of four characters, so that what is cut off cannot make the rest unreadable.
    start = data[: size // 3 * 4]
    start = start[: len(start) // 4 * 4]
    try:
        return binascii.a2b_base64(start.encode("ascii"))
    except (ValueError, UnicodeEncodeError):
        return b""


def _read_png(head: bytes) -> ImageHead | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or head[12:16] != b"IHDR" or len(head) < 24:
        return None
    return ImageHead("image/png", int.from_bytes(head[16:20]), int.from_bytes(head[20:24]))


def _read_gif(head: bytes) -> ImageHead | None:
    if head[:6] not in {b"GIF87a", b"GIF89a"} or len(head) < 10:
        return None
    return ImageHead("image/gif", int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little"))


def _read_webp(head: bytes) -> ImageHead | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    kind = head[12:16]
    if kind == b"VP8X":
        return ImageHead(
            "image/webp", int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        )
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return ImageHead("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
        return ImageHead("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None


# Frame headers of every JPEG coding process; C4, C8 and CC in that range are something else.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})


def _read_jpeg(head: bytes) -> ImageHead | None:
    position = 2
    while position + 9 <= len(head):
        if head[position] != 0xFF:
            return None
        marker = head[position + 1]
        if marker in _FRAMES:
            height, width = head[position + 5 : position + 7], head[position + 7 : position + 9]
            return ImageHead("image/jpeg", int.from_bytes(width), int.from_bytes(height))
        if marker == 0xFF:
            position += 1
        elif marker in _ALONE:
            position += 2
        else:
            position += 2 + int.from_bytes(head[position + 2 : position + 4])
    return None
