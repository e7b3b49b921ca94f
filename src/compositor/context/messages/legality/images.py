"""One image against the rules L140 to L144, by the head of its base64 text.

Decides these rules. Never decodes a picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compositor.types.image_head import decode_start, read_image_head

from .rules import Violation
from .wire_context import MIB, WireContext

MAX_SIDE = 8000
MANY_SIDE = 2000
MANY_IMAGES = 20
MAX_IMAGES = 600
MAX_IMAGES_SMALL_WINDOW = 100
SMALL_WINDOW = 200_000


def check_image(source: Mapping[str, Any], path: str, context: WireContext) -> Iterator[Violation]:
    """The rules that one image shows alone. `path` is that of the image block; only base64 sources show anything."""
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str):
        return
    place = f"{path}.source.data"
    limit = context.image_limit
    if len(data) > limit:
        yield Violation("L142", place, f"{len(data)} characters of base64 are above {limit // MIB} MB")
    head = read_image_head(data)
    if head is None:
        if not _is_image(data):
            yield Violation("L144", place, "the data begins like no jpeg, png, gif or webp")
        return
    if max(head.width, head.height) > MAX_SIDE:
        yield Violation("L140", place, f"{head.width}x{head.height} pixels are above {MAX_SIDE} on a side")
    claimed = source.get("media_type")
    if isinstance(claimed, str) and claimed != head.media_type and claimed.startswith("image/"):
        yield Violation("L144", f"{path}.source.media_type", f"says {claimed!r}, the data is {head.media_type!r}")


def _is_image(data: str) -> bool:
    """Whether the first bytes are those of an image that is taken, however little else can be seen of it."""
    head = decode_start(data, 64)
    return head.startswith((b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")) or (
        head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    )
