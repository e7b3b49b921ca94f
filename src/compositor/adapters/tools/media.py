"""What a file that is no plain text becomes.

Decides the value that the decoders of images, PDFs and notebooks give back. Never decodes.
"""

from __future__ import annotations

import base64
from typing import Any

from msgspec import Struct

from compositor.types.blocks import DocumentBlock, ImageBlock, ResultContent
from compositor.types.json import raw_json


class Media(Struct, frozen=True, kw_only=True):
    """Blocks for the model, a few words for the person watching, and the structured result."""

    content: tuple[ResultContent, ...]
    summary: str
    structured: dict[str, Any]


def image_block(media_type: str, data: bytes) -> ImageBlock:
    """An image by value."""
    return ImageBlock(source=_source(media_type, data))


def document_block(media_type: str, data: bytes) -> DocumentBlock:
    """A document by value."""
    return DocumentBlock(source=_source(media_type, data))


def _source(media_type: str, data: bytes) -> Any:
    return raw_json({"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()})
