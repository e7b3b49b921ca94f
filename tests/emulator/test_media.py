"""Reading the head of an image: kind and size of real files of every kind that is taken."""

import base64
import io

import pytest
from PIL import Image

from compositor.emulator.media_rules import ImageHead, read_head


def encoded(kind, size, **more):
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, kind, **more)
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize(
    ("kind", "media_type", "more"),
    [
        ("PNG", "image/png", {}),
        ("GIF", "image/gif", {}),
        ("JPEG", "image/jpeg", {}),
        ("JPEG", "image/jpeg", {"progressive": True, "comment": b"c" * 300}),
        ("WEBP", "image/webp", {}),
        ("WEBP", "image/webp", {"lossless": True}),
        ("WEBP", "image/webp", {"exif": b"Exif  "}),
    ],
)
@pytest.mark.parametrize("size", [(1, 1), (37, 2001)])
def test_kind_and_size_are_read(kind, media_type, more, size):
    assert read_head(encoded(kind, size, **more)) == ImageHead(media_type, *size)


@pytest.mark.parametrize("data", ["", "eA==", "not base64!", "QUFBQUFBQUFBQUFBQUFBQUFBQUFB"])
def test_what_is_no_image(data):
    assert read_head(data) is None


@pytest.mark.parametrize("kind", ["PNG", "GIF", "JPEG", "WEBP"])
def test_a_file_that_ends_too_soon_has_a_kind_and_no_size(kind):
    cut = base64.b64encode(base64.b64decode(encoded(kind, (5, 5)))[:14]).decode()
    head = read_head(cut)
    assert (head.width, head.height) in {(0, 0), (5, 5)}
