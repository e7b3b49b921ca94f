"""Image heads are read from the first bytes alone, for every type the wire takes."""

import base64
import struct

import pytest

from compositor.types.image_head import ImageHead, read_image_head


def _png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\x00\x00\x00"


def _webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + rest + b"\x00" * 16


def _jpeg(*segments: bytes, width: int = 640, height: int = 480) -> bytes:
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"
    return b"\xff\xd8" + b"".join(segments) + frame + b"\x00" * 8


METADATA = b"\xff\xe1" + struct.pack(">H", 60_000) + b"\x00" * 59_998

HEADS = {
    "png": (_png(1170, 2532), ImageHead("image/png", 1170, 2532)),
    "gif": (b"GIF89a" + struct.pack("<HH", 300, 7), ImageHead("image/gif", 300, 7)),
    "webp-extended": (
        _webp(b"VP8X", b"\x00" * 4 + (9000 - 1).to_bytes(3, "little") + (99).to_bytes(3, "little")),
        ImageHead("image/webp", 9000, 100),
    ),
    "webp-lossless": (
        _webp(b"VP8L", b"\x2f" + ((800 - 1) | (600 - 1) << 14).to_bytes(4, "little")),
        ImageHead("image/webp", 800, 600),
    ),
    "webp-lossy": (
        _webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 320, 200)),
        ImageHead("image/webp", 320, 200),
    ),
    "jpeg": (_jpeg(), ImageHead("image/jpeg", 640, 480)),
    "jpeg-behind-metadata": (_jpeg(METADATA, METADATA, width=4000, height=3000), ImageHead("image/jpeg", 4000, 3000)),
    "jpeg-with-fill-and-huffman-table": (
        _jpeg(b"\xff\xff\xc4\x00\x04\x01\x02", b"\xff\x01"),
        ImageHead("image/jpeg", 640, 480),
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_type_and_size_are_read(name: str) -> None:
    data, expected = HEADS[name]
    assert read_image_head(base64.b64encode(data).decode()) == expected


@pytest.mark.parametrize("name", HEADS)
def test_a_head_cut_anywhere_is_never_misread(name: str) -> None:
    data, expected = HEADS[name]
    for length in range(min(len(data), 64)):
        assert read_image_head(base64.b64encode(data[:length]).decode()) in {None, expected}


@pytest.mark.parametrize(
    "text", ["", "A", "not base64!", "é" * 100, "=" * 50, "\ud83d" * 90, base64.b64encode(b"BM" * 40).decode()]
)
def test_what_is_no_image_has_no_head(text: str) -> None:
    assert read_image_head(text) is None


def test_a_long_image_is_not_decoded() -> None:
    text = base64.b64encode(HEADS["png"][0]).decode() + "!" * 10_000_000
    assert read_image_head(text) == HEADS["png"][1]
