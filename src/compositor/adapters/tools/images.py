"""Images as blocks the model can see.

Decides formats and sizes: at most 2,000 pixels a side (L141) and less than 5 MB in base64. An image that fits is sent as it is.
"""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from typing import TYPE_CHECKING, Final

from compositor.types.blocks import ImageBlock

from .media import Media, image_block
from .results import Problem

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_SIDE: Final = 2_000
MAX_BYTES: Final = 3_700_000
"""Raw bytes whose base64 stays below 5 MB."""

LIGHT_BYTES: Final = 500_000
"""A re-encoded image above this becomes a JPEG."""

# Formats that the API takes; the other one that can be read is sent as PNG.
_SENT_AS_IS: Final = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_FORMATS: Final = (*_SENT_AS_IS, "BMP")
_QUALITIES: Final = (85, 60, 30)


def is_image(data: bytes) -> bool:
    """Whether `data` begins like an image that can be read."""
    return (
        data.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"))
        or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")
        or (data[:2] == b"BM" and data[6:10] == b"\0\0\0\0")
    )


def read_image(data: bytes) -> Media | Problem:
    """The image as one block, made smaller when it has to be."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        # A picture that would fill the memory is a warning below a second limit and an error above it; here both refuse.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                media_type = _SENT_AS_IS.get(image.format or "")
                size = image.size
                if media_type is not None and max(size) <= MAX_SIDE and len(data) <= MAX_BYTES:
                    image.verify()
                    return _media(media_type, data, size, size, len(data))
                media_type, sent, new_size = _encoded(image)
                return _media(media_type, sent, size, new_size, len(data))
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            return Problem("the image has too many pixels to be decoded")
        except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
            return Problem(f"the image is damaged: {error}")


def image_from_base64(data: str) -> ImageBlock:
    """A picture that came with a prompt, made smaller where it has to be. Raises `ValueError` for what is none."""
    try:
        found = read_image(base64.b64decode(data, validate=True))
    except binascii.Error as problem:
        raise ValueError(f"the image is no base64: {problem}") from None
    block = None if isinstance(found, Problem) else found.content[0]
    if not isinstance(block, ImageBlock):
        raise ValueError(found.message if isinstance(found, Problem) else "it is no image")  # noqa: TRY004
    return block


def _encoded(image: Image) -> tuple[str, bytes, tuple[int, int]]:
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((MAX_SIDE, MAX_SIDE))
    plain = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    png = _saved(plain, "PNG")
    if len(png) <= LIGHT_BYTES:
        return "image/png", png, plain.size
    for quality in _QUALITIES:
        jpeg = _saved(plain.convert("RGB"), "JPEG", quality)
        if len(jpeg) <= MAX_BYTES:
            return "image/jpeg", jpeg, plain.size
    raise ValueError("it stays too large after scaling")


def _saved(image: Image, form: str, quality: int = 85) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, quality=quality)
    return buffer.getvalue()


def _media(media_type: str, data: bytes, old: tuple[int, int], new: tuple[int, int], original: int) -> Media:
    scaled = "" if old == new else f", shown at {new[0]}x{new[1]}"
    return Media(
        content=(image_block(media_type, data),),
        summary=f"image of {old[0]}x{old[1]}{scaled}",
        structured={
            "type": "image",
            "file": {
                "type": media_type,
                "originalSize": original,
                "dimensions": {
                    "originalWidth": old[0],
                    "originalHeight": old[1],
                    "displayWidth": new[0],
                    "displayHeight": new[1],
                },
            },
        },
    )
