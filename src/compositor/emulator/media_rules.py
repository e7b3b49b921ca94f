"""Whether images may be sent: side length, bytes, number, kind (wire page 3.7). Reads the head of an image, never its pixels.

Decides the refusals of L140 to L146. What stands behind an address or a file id is not looked at.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .conversation import Block, blocks_of, inner_blocks, path_of
from .grammar import Circumstances
from .refusal import Refusal

_SIDE, _SIDE_OF_MANY, _MANY = 8000, 2000, 20
_HEAD = 65_536


class ImageHead(Struct, frozen=True):
    """What the first bytes tell; sizes in pixels, 0 where they do not tell."""

    media_type: str
    width: int = 0
    height: int = 0


def check_media(body: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    images = list(_media(body, "image"))
    pages = list(_media(body, "document"))
    most = 100 if given.profile.window <= 200_000 else 600
    if len(images) + len(pages) > most:
        said = f"messages: at most {most} images and PDF pages may be sent. Found {len(images) + len(pages)}."
        yield Refusal(message=said, rule="L143")
    for path, block in pages:
        yield from _check_document(path, block["source"], given)
    limit = _SIDE_OF_MANY if len(images) > _MANY else _SIDE
    too_large: list[str] = []
    for path, block in images:
        source = block["source"]
        if source["type"] == "base64":
            yield from _check_data(path, source, given)
            head = read_head(source["data"])
            longest = max(head.width, head.height) if head is not None else 0
            if longest > limit:
                too_large.append(path)
            elif _must_fit(block) and longest > given.profile.image_edge:
                said = f"{path}.image: is larger than {given.profile.image_edge} pixels and may not be made smaller"
                yield Refusal(message=said, rule="L146")
        elif not given.profile.image_urls:
            said = f"{path}.image.source: only base64 sources are supported here"
            yield Refusal(message=said, rule="L144")
    if too_large:
        yield _dimensions(too_large, limit)


def _must_fit(block: Block) -> bool:
    return (block.get("transformations") or {}).get("oversized_image") == "error"


def _check_document(path: str, source: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    """PDF files are not opened; the word in the trailer that makes one encrypted is looked for (L145)."""
    at = f"{path}.document.source"
    if source["type"] in {"url", "file"} and not given.profile.image_urls:
        yield Refusal(message=f"{at}: only base64 sources are supported here", rule="L145")
    elif source["type"] == "base64":
        try:
            data = base64.b64decode(source["data"], validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if not data.startswith(b"%PDF-") or b"/Encrypt" in data:
            yield Refusal(message=f"{at}.base64: the PDF is not valid or is encrypted", rule="L145")


def _dimensions(paths: list[str], limit: int) -> Refusal:
    many = " for many-image requests" if limit == _SIDE_OF_MANY else ""
    return Refusal(
        message=f"{paths[0]}.image.source.base64.data: At least one of the image dimensions exceed max allowed size"
        f"{many}: {limit} pixels",
        error_code="image_dimensions_too_large",
        details={"paths": paths, "max_side_length_pixels": limit},
        rule="L141" if many else "L140",
    )


def _check_data(path: str, source: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    at = f"{path}.image.source.base64"
    if len(source["data"]) > given.profile.image_limit:
        limit = given.profile.image_limit
        said = f"{at}: image exceeds {limit // 1024**2} MB maximum: {len(source['data'])} bytes > {limit} bytes"
        yield Refusal(message=said, rule="L142")
        return
    head = read_head(source["data"])
    if head is None:
        yield Refusal(message=f"{at}.data: Could not process image", rule="L144")
    elif head.media_type != source["media_type"]:
        said = (
            f"{at}.media_type: the image was specified with {source['media_type']}, but appears to be {head.media_type}"
        )
        yield Refusal(message=said, rule="L144")


def _media(body: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Block]]:
    for number, index, _, block in blocks_of(body["messages"]):
        path = path_of(number, index)
        if block["type"] == kind:
            yield path, block
        for inner_index, inner in enumerate(inner_blocks(block) if block["type"] == "tool_result" else ()):
            if inner.get("type") == kind:
                yield f"{path}.content.{inner_index}", inner


def read_head(data: str) -> ImageHead | None:
    """Kind and size of a base64 image; `None` when its first bytes are those of no image that is taken."""
    text = data[:_HEAD].partition("=")[0]
    try:
        head = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _sized("image/png", ">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _sized("image/gif", "<HH", head[6:10])
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _sized(kind: str, form: str, data: bytes) -> ImageHead:
    if len(data) < struct.calcsize(form):
        return ImageHead(kind)
    width, height = struct.unpack(form, data)
    return ImageHead(kind, width, height)


def _jpeg(head: bytes) -> ImageHead:
    """Walks the segments up to the frame header, which holds height before width."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        code = head[at + 1]
        if 0xC0 <= code <= 0xCF and code not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return ImageHead("image/jpeg", width, height)
        at += 2 + int.from_bytes(head[at + 2 : at + 4])
    return ImageHead("image/jpeg")


def _webp(head: bytes) -> ImageHead:
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return ImageHead(
            "image/webp", int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        )
    if kind == b"VP8 " and len(head) >= 30:
        width, height = struct.unpack("<HH", head[26:30])
        return ImageHead("image/webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return ImageHead("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    return ImageHead("image/webp")
