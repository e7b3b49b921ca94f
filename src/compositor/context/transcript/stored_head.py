"""The stored form of a head's parts: one JSON document, the same bytes for the same parts (R424).

Decides how a head is kept so that the same bytes can be compiled again. Never compiles one, and never names the file.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from compositor.errors import TranscriptFormatError
from compositor.types.json import EMPTY_OBJECT, repair_raw
from compositor.types.provenance import Attribution, Fragment, Omission, Source
from compositor.types.request import HeadParts, HeadTool
from compositor.types.tools import ToolDefinition

from . import shapes
from .raw import repair_strings
from .shapes import copy_fields


def encode_head(parts: HeadParts) -> bytes:
    """`parts` as JSON on one line, without a line break."""
    shape = shapes.HeadShape(
        version=shapes.VERSION,
        tools=tuple(_tool_shape(tool) for tool in parts.tools),
        system=tuple(tuple(_fragment_shape(fragment) for fragment in block) for block in parts.system),
        context=tuple(_fragment_shape(fragment) for fragment in parts.context),
        omissions=tuple(
            copy_fields(omission, shapes.OmissionShape, source=_optional_source(omission.source, shapes.SourceShape))
            for omission in parts.omissions
        ),
    )
    try:
        data = msgspec.json.encode(shape)
    except UnicodeEncodeError:
        data = msgspec.json.encode(repair_strings(shape))
    return bytes(repair_raw(Raw(data)))


def decode_head(data: bytes) -> HeadParts:
    """The parts that `encode_head` wrote. Raises `TranscriptFormatError` for anything else."""
    try:
        shape = msgspec.json.decode(data, type=shapes.HeadShape)
    except (msgspec.MsgspecError, RecursionError) as problem:
        raise TranscriptFormatError(f"the stored head cannot be read: {problem}") from problem
    if shape.version > shapes.VERSION:
        raise TranscriptFormatError(
            f"the stored head is of version {shape.version}; this program reads up to {shapes.VERSION}",
            version=str(shape.version),
        )
    return HeadParts(
        tools=tuple(_tool(tool) for tool in shape.tools),
        system=tuple(tuple(_fragment(fragment) for fragment in block) for block in shape.system),
        context=tuple(_fragment(fragment) for fragment in shape.context),
        omissions=tuple(
            copy_fields(omission, Omission, source=_optional_source(omission.source, Source))
            for omission in shape.omissions
        ),
    )


def _tool_shape(tool: HeadTool) -> shapes.ToolShape:
    made_by, origin = tool.definition.origin, _origin_shape(tool.origin)
    return copy_fields(tool.definition, shapes.ToolShape, made_by=made_by, origin=origin)


def _tool(shape: shapes.ToolShape) -> HeadTool:
    schema = shape.input_schema.copy()
    # The default has to be the object itself: only that one is left out when the head is written again.
    settings = shape.settings.copy() if shape.provider else EMPTY_OBJECT
    definition = copy_fields(shape, ToolDefinition, origin=shape.made_by, input_schema=schema, settings=settings)
    return HeadTool(definition, _origin(shape.origin))


def _fragment_shape(fragment: Fragment) -> shapes.FragmentShape:
    return shapes.FragmentShape(text=fragment.text, origin=_origin_shape(fragment.origin))


def _fragment(shape: shapes.FragmentShape) -> Fragment:
    return Fragment(shape.text, _origin(shape.origin))


def _origin_shape(origin: Attribution) -> shapes.OriginShape:
    return copy_fields(origin, shapes.OriginShape, source=copy_fields(origin.source, shapes.SourceShape))


def _origin(shape: shapes.OriginShape) -> Attribution:
    return copy_fields(shape, Attribution, source=copy_fields(shape.source, Source))


def _optional_source(source: Source | shapes.SourceShape | None, target: type[shapes.S]) -> shapes.S | None:
    return None if source is None else copy_fields(source, target)
