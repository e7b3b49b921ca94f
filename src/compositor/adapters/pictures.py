"""Pictures that a person puts into a prompt, by the clipboard or by dropping them (R196).

Performs the decoding; size and format that the service takes are those of every picture that is read.
"""

from __future__ import annotations

from compositor.adapters.tools.images import is_image, read_image
from compositor.adapters.tools.results import Problem
from compositor.types.attachments import MediaAttachment

KIND = "clipboard_image"


def clipboard_image(data: bytes) -> MediaAttachment | Problem:
    """The picture as an attachment of a prompt; a problem, in one sentence, where it is none."""
    if not is_image(data):
        return Problem("What was put in is no picture of a format that the service takes.")
    media = read_image(data)
    return media if isinstance(media, Problem) else MediaAttachment(kind=KIND, content=tuple(media.content))
