"""Notebooks as cells with their outputs.

Decides how a cell is written for the model and how much of an output is shown.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compositor.context.tools.display import counted
from compositor.types.blocks import ImageBlock, ResultContent, TextBlock
from compositor.types.json import decode_json, repair_text

from .images import read_image
from .media import Media
from .output import clean_output
from .results import Problem

OUTPUT_CHARACTERS: Final = 10_000
"""Of one output of one cell."""

TOTAL_CHARACTERS: Final = 100_000
"""Of all cells; a longer notebook has to be read as raw text."""

MAX_IMAGES: Final = 10
_IMAGES: Final = ("image/png", "image/jpeg")


def read_notebook(data: bytes) -> Media | Problem:
    """The cells in order, each with its source and outputs; pictures as image blocks."""
    try:
        notebook = decode_json(data)
    except ValueError:
        return Problem("the notebook is no JSON; read it with offset and limit as text")
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return Problem("the notebook has no list of cells; read it with offset and limit as text")
    blocks = _joined(block for index, cell in enumerate(cells) for block in _cell(index, cell))
    length = sum(len(block.text) for block in blocks if isinstance(block, TextBlock))
    if length > TOTAL_CHARACTERS:
        return Problem(
            f"the notebook has {length:,} characters in its cells, more than {TOTAL_CHARACTERS:,}; read it in parts with offset and limit"
        )
    return Media(
        content=blocks or (TextBlock("[The notebook has no cells.]"),),
        summary=f"notebook of {counted(len(cells), 'cell')}",
        structured={"type": "notebook", "file": {"cells": [_structured(cell) for cell in cells]}},
    )


def _cell(index: int, cell: object) -> Iterator[ResultContent]:
    fields = _mapping(cell)
    kind = fields.get("cell_type", "unknown")
    name = fields.get("id", index)
    yield TextBlock(f"[Cell {name}, {kind}]\n{_text(fields.get('source'))}")
    outputs = fields.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        yield from _output(_mapping(output))


def _output(output: Mapping[str, Any]) -> Iterator[ResultContent]:
    data = _mapping(output.get("data"))
    traceback = output.get("traceback")
    text = _text(output.get("text")) or _text(data.get("text/plain"))
    if isinstance(traceback, list):
        text = "\n".join(map(str, traceback))
    text = clean_output(text).rstrip()
    if len(text) > OUTPUT_CHARACTERS:
        text = f"{text[:OUTPUT_CHARACTERS]}\n[Output cut: {len(text) - OUTPUT_CHARACTERS:,} more characters.]"
    if text:
        yield TextBlock(f"[Output]\n{text}")
    for media_type in _IMAGES:
        if media_type in data:
            yield from _picture(_text(data[media_type]))


def _picture(encoded: str) -> Iterator[ResultContent]:
    try:
        image = read_image(base64.b64decode(encoded))
    except binascii.Error:
        image = Problem("the picture is no base64")
    if isinstance(image, Problem):
        yield TextBlock(f"[Picture left out: {image.message}.]")
    else:
        yield from image.content


def _joined(blocks: Iterator[ResultContent]) -> tuple[ResultContent, ...]:
    """Neighboring texts as one block; pictures above the limit are named, not shown."""
    joined: list[ResultContent] = []
    images = 0
    for block in blocks:
        images += isinstance(block, ImageBlock)
        kept = (
            TextBlock("[Picture left out: too many.]")
            if isinstance(block, ImageBlock) and images > MAX_IMAGES
            else block
        )
        last = joined[-1] if joined else None
        if isinstance(kept, TextBlock) and isinstance(last, TextBlock):
            joined[-1] = TextBlock(f"{last.text}\n\n{kept.text}")
        else:
            joined.append(kept)
    return tuple(joined)


def _structured(cell: object) -> dict[str, Any]:
    fields = _mapping(cell)
    return {"cellType": fields.get("cell_type"), "cell_id": fields.get("id"), "source": _text(fields.get("source"))}


def _text(value: object) -> str:
    if isinstance(value, list):
        return repair_text("".join(str(part) for part in value))
    return repair_text(value) if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
