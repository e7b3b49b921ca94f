"""The one token counter (law 8): an estimate from bytes, scaled by what responses reported.

Decides how many tokens a piece of a request is taken for. No tokenizer of the target models is public (wire page 9.2), so every
figure is an estimate until usage confirms it; the method's name says so.
"""

from __future__ import annotations

import re
from operator import mul

from msgspec import Struct

from compositor.types.image_head import read_image_head
from compositor.types.request import Chunk, Compiled

# Weight in tokens of one byte of a class, fitted on real files against a public tokenizer table; the class of a byte is a letter
# of the translation table. Four-byte characters have no data and count one token.
_CLASSES: tuple[tuple[bytes, range | bytes, float], ...] = (
    (b"a", b"abcdefghijklmnopqrstuvwxyz", 0.22),
    (b"A", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.39),
    (b"0", b"0123456789", 0.63),
    (b" ", b" ", 0.08),
    (b"t", b"\t", 1.27),
    (b"p", bytes(byte for byte in range(33, 127) if not chr(byte).isalnum()), 0.58),
    (b"e", range(0xE3, 0xF0), 0.82),
    (b"d", range(0xC2, 0xE0), 0.42),
    (b"g", range(0xE0, 0xE3), 0.39),
    (b"f", range(0xF0, 0xF5), 1.0),
)


def _translation() -> bytes:
    table = bytearray(b"n" * 256)
    for letter, members, _ in _CLASSES:
        for byte in members:
            table[byte] = letter[0]
    return bytes(table)


_TABLE = _translation()
_LETTERS = tuple(letter for letter, _, _ in _CLASSES)
_WEIGHTS = tuple(weight for _, _, weight in _CLASSES)

METHOD = "estimate from byte classes"

MARGIN = 1.25
"""What an estimate is multiplied with where too little would be worse than too much; `python -m benchmarks tokens` prints the errors it stands against."""

_PATCH, _LONG_EDGE, _LARGEST_IMAGE = 28, 2576, 4784
# A document of which nothing is known: about 50 KB of base64 and 2,000 tokens a page.
_BYTES_PER_TOKEN = 25
_BASE64 = re.compile(rb'"data"\s*:\s*"([A-Za-z0-9+/]{64,}={0,2})"')


def estimate_tokens(data: bytes, scale: float = 1.0) -> int:
    """About how many tokens the UTF-8 bytes `data` are. `scale` is the model's ratio of reported to estimated tokens."""
    if not data:
        return 0
    if b"base64" in data:
        return _estimate_media(data, scale)
    return _estimate_text(data, scale)


def image_tokens(width: int, height: int) -> int:
    """Tokens of a picture of so many pixels: one for 28 x 28 of them, once the service has made it small enough (wire page 9.2)."""
    shrink = min(1.0, _LONG_EDGE / max(width, height, 1))
    across, down = (-(-int(side * shrink) // _PATCH) for side in (width, height))
    return min(max(across * down, 1), _LARGEST_IMAGE)


def _estimate_media(data: bytes, scale: float) -> int:
    """Text without the data of its pictures and documents, and these by what they are: base64 is never read as text."""
    total, at = 0, 0
    text: list[bytes] = []
    for found in _BASE64.finditer(data):
        text.append(data[at : found.start(1)])
        at = found.end(1)
        head = read_image_head(found[1].decode("ascii"))
        total += image_tokens(head.width, head.height) if head is not None else len(found[1]) // _BYTES_PER_TOKEN
    text.append(data[at:])
    return total + _estimate_text(b"".join(text), scale)


def _estimate_text(data: bytes, scale: float) -> int:
    classes = data.translate(_TABLE)
    weighed: float = sum(map(mul, _WEIGHTS, map(classes.count, _LETTERS)))
    return max(1, round(scale * weighed))


def calibrate(scale: float, estimated: int, reported: int) -> float:
    """The next scale after a response that reported `reported` input tokens where `estimated` were expected (smoothed).

    `estimated` was made with `scale`. Keeps `scale` when there is nothing to learn from.
    """
    if estimated <= 0 or reported <= 0:
        return scale
    return scale * (0.7 + 0.3 * min(max(reported / estimated, 0.5), 2.0))


class RegionTokens(Struct, frozen=True, kw_only=True):
    """Estimated tokens of the three model-visible regions (R019, R022) and how they were counted."""

    tools: int
    system: int
    messages: int
    method: str = METHOD

    @property
    def total(self) -> int:
        return self.tools + self.system + self.messages


def count_request(compiled: Compiled, scale: float = 1.0) -> RegionTokens:
    """Token estimate of a compiled request by region; every other field counts zero (R019)."""
    head = compiled.head
    return RegionTokens(
        tools=_count(head.tools + head.deferred, scale),
        system=_count(head.system, scale),
        messages=_count(tuple(compiled.message_chunks()), scale),
    )


def _count(chunks: tuple[Chunk, ...], scale: float) -> int:
    return sum(estimate_tokens(chunk.data, scale) for chunk in chunks)
