"""What a person sends from an editor: words, pictures, files that are named, and text of the editor that goes with them.

Decides what of it is the prompt and what stands beside it under its own name. A resource is not the person's words, so it never becomes part
of them (R422).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import schema
from msgspec import Struct

from compositor.adapters.tools.images import image_from_base64
from compositor.context.attachments.mentions import quote_mention
from compositor.errors import UsageError
from compositor.types.blocks import ImageBlock

_LINES = re.compile(r"L?(\d+)(?:[-:,]L?(\d+))?")


class Shown(Struct, frozen=True, kw_only=True):
    """Text of the editor that goes with a prompt. `path` is absolute for a file, else the address; `first` and `last` are lines, 0 for the whole."""

    path: str
    text: str
    first: int = 0
    last: int = 0
    is_file: bool = True


class EditorPrompt(Struct, frozen=True, kw_only=True):
    text: str
    media: tuple[ImageBlock, ...] = ()
    shown: tuple[Shown, ...] = ()


def read_prompt(blocks: Sequence[Any]) -> EditorPrompt:
    """Take a prompt apart. Raises `UsageError` for a part that cannot be sent."""
    words: list[str] = []
    media: list[ImageBlock] = []
    shown: list[Shown] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                words.append(block.text)
            case schema.ImageContentBlock():
                media.append(_picture(block.data))
            case schema.ResourceContentBlock():
                # A mention begins a word.
                words.append(f"{'' if not words or words[-1][-1:].isspace() else ' '}{mention(block.uri)}")
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as found):
                words.append(file_path(found.uri)[0] or found.uri)
                shown.append(_shown(found))
            case _:
                raise UsageError(f"a part of the type {block.type!r} cannot be sent to this model")
    return EditorPrompt(text="".join(words), media=tuple(media), shown=tuple(shown))


def mention(uri: str) -> str:
    """A resource as the person's words name it: `@path` for a file, with quotes where it has blanks and the lines it names, else the address."""
    path, fragment = file_path(uri)
    if path is None:
        return uri
    lines = f"#{fragment}" if re.fullmatch(r"L\d+(?:-L?\d+)?", fragment) else ""
    return f"{quote_mention(path)}{lines}"


def file_path(uri: str) -> tuple[str | None, str]:
    """The path that a `file:` address means, and its fragment; no path for any other address."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None, parts.fragment
    return unquote(parts.path), parts.fragment


def selections(prompts: Iterable[Shown]) -> str:
    """What the model is told about text that an editor sent along."""
    return "\n\n".join(_told(one) for one in prompts)


def _told(shown: Shown) -> str:
    lines = f" (lines {shown.first}-{shown.last})" if shown.first else ""
    return f"From the editor, {shown.path}{lines}:\n{shown.text}"


def _shown(found: schema.TextResourceContents) -> Shown:
    path, fragment = file_path(found.uri)
    lines = _LINES.fullmatch(fragment)
    first = int(lines[1]) if lines else 0
    last = int(lines[2] or lines[1]) if lines else 0
    return Shown(path=path or found.uri, text=found.text, first=first, last=last, is_file=path is not None)


def _picture(data: str) -> ImageBlock:
    try:
        return image_from_base64(data)
    except ValueError as problem:
        raise UsageError(f"a picture of the prompt cannot be sent: {problem}") from None
