"""Images that the service refused: a note stands in for each of them, wherever it stood (F06, L140 to L146).

Decides how an image is recognized: by the sha256 of its source, so that a copy of it goes too. Never looks at pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet

import msgspec

from compositor.types.blocks import ImageBlock, ResultContent, TextBlock, ToolResultBlock
from compositor.types.messages import Part

from .drafts import Notes

STEP = "refused image"
STAND_IN = "(An image stood here; the service refused it.)"


def image_digest(image: ImageBlock) -> str:
    """The sha256 hex of the image's source as it is sent."""
    return hashlib.sha256(bytes(image.source)).hexdigest()


def without_refused(part: Part, refused: AbstractSet[str], notes: Notes) -> Part:
    """`part` with a note in the place of each image that is among `refused`; the same part where there is none."""
    block = part.block
    if isinstance(block, ImageBlock):
        return Part(_note(part, notes), part.origin) if image_digest(block) in refused else part
    if not isinstance(block, ToolResultBlock) or not isinstance(block.content, tuple):
        return part
    content: list[ResultContent] = []
    for item in block.content:
        hit = isinstance(item, ImageBlock) and image_digest(item) in refused
        content.append(_note(part, notes) if hit else item)
    if tuple(content) == block.content:
        return part
    return msgspec.structs.replace(part, block=msgspec.structs.replace(block, content=tuple(content)))


def _note(part: Part, notes: Notes) -> TextBlock:
    notes.leave_out(STEP, "an image", "the service refused it; a note stands in", part.origin.source)
    return TextBlock(STAND_IN)
