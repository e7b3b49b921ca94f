"""Pictures from servers pass the same scaler as those that Read shows (F06, L141, L142)."""

import base64
import io
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from PIL import Image

from compositor.adapters.mcp.results import blocks_of, text_of
from compositor.adapters.tools.images import MAX_SIDE, read_image
from compositor.adapters.tools.media import Media
from compositor.types.blocks import ImageBlock, TextBlock

LARGEST = 5 * 1024 * 1024


def picture(size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 80).save(buffer, "PNG")
    return buffer.getvalue()


def parts_with(data: bytes) -> tuple[Any, Any]:
    """The two ways in which a server gives a picture: as such, and as an embedded resource."""
    encoded = base64.b64encode(data).decode()
    resource = SimpleNamespace(uri="file:///a.png", mime_type="image/png", blob=encoded)
    return (
        SimpleNamespace(type="image", data=encoded, mime_type="image/png"),
        SimpleNamespace(type="resource", resource=resource),
    )


@pytest.mark.parametrize("size", [(1170, 2532), (9000, 100), (3000, 2500)], ids=["tall", "wide", "heavy"])
def test_a_server_s_picture_is_scaled_as_read_scales_it(size: tuple[int, int]) -> None:
    data = picture(size)
    expected = read_image(data)
    assert isinstance(expected, Media)
    for block in blocks_of(parts_with(data)):
        assert block == expected.content[0]
        assert isinstance(block, ImageBlock)
        sent = msgspec.json.decode(bytes(block.source))["data"]
        with Image.open(io.BytesIO(base64.b64decode(sent))) as shown:
            assert max(shown.size) <= MAX_SIDE
        assert len(sent) < LARGEST


def test_a_picture_that_fits_is_sent_as_it_came() -> None:
    data = picture((40, 30))
    for block in blocks_of(parts_with(data)):
        assert isinstance(block, ImageBlock)
        assert msgspec.json.decode(bytes(block.source))["data"] == base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "data", ["%%%", base64.b64encode(b"no picture").decode(), ""], ids=["no base64", "noise", "empty"]
)
def test_what_is_no_picture_is_a_note(data: str) -> None:
    (block,) = blocks_of([SimpleNamespace(type="image", data=data, mime_type="image/png")])
    assert isinstance(block, TextBlock)
    assert "image/png" in block.text


def test_a_picture_among_texts_is_named() -> None:
    """A prompt of a server becomes one text; what it cannot hold is not dropped in silence."""
    text = SimpleNamespace(type="text", text="look at this")
    assert text_of([text, parts_with(picture((4, 4)))[0]]) == "look at this\n[An image that cannot be shown here.]"
