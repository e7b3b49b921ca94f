"""Walks decoded JSON along the shape tables: unknown keys, missing and ill-typed fields, words out of a closed list.

Decides nothing that one object alone cannot show; what messages have to do with each other is the fold's business. The
walk is as deep as the tables, however deep the input is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .body_schema import BODY, MODEL_FIELDS, VERSIONED_FIELDS
from .rules import Violation
from .schemas import CONTENT, RESULT_CONTENT, SYSTEM_CONTENT, TOOL, Choice, Field, Kind, Shape
from .wire_context import WireContext

_PYTHON_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.TEXT: (str,),
    Kind.INTEGER: (int,),
    Kind.NUMBER: (int, float),
    Kind.FLAG: (bool,),
    Kind.OBJECT: (dict,),
    Kind.LIST: (list,),
    Kind.ANY: (object,),
}


def check_body_shape(body: Mapping[str, Any], context: WireContext) -> Iterator[Violation]:
    """The whole body, messages included."""
    shape = BODY
    if context.versioned_body:
        shape = Shape(fields={**BODY.fields, **VERSIONED_FIELDS})
    yield from _check_object(body, shape, "", context)
    needed = () if context.versioned_body else MODEL_FIELDS
    for name in needed:
        if name not in body and not (name == "max_tokens" and context.counting):
            yield Violation("W03", name, "the field is missing")


def check_option_shape(options: Mapping[str, Any], context: WireContext) -> Iterator[Violation]:
    """Scalars of a body that is checked in pieces: no field is required."""
    for name, value in options.items():
        field = BODY.fields.get(name)
        if field is not None:
            yield from _check_field(value, field, name, context)


def check_block_shape(block: object, path: str, context: WireContext, *, role: str) -> Iterator[Violation]:
    """One block of a message of `role`."""
    yield from _check_choice(block, SYSTEM_CONTENT if role == "system" else CONTENT, path, context)


def check_result_block_shape(block: object, path: str, context: WireContext) -> Iterator[Violation]:
    """One block inside a `tool_result`."""
    yield from _check_choice(block, RESULT_CONTENT, path, context)


def check_tool_shape(tool: object, path: str, context: WireContext) -> Iterator[Violation]:
    """One entry of `tools`."""
    yield from _check_choice(tool, TOOL, path, context)


def check_text_shape(block: object, path: str, context: WireContext) -> Iterator[Violation]:
    """One block of the top-level system prompt."""
    inside = BODY.fields["system"].inside
    if inside is not None:
        yield from _check_inside(block, inside, path, context)


def _check_inside(
    value: object, inside: Shape | Choice | Field, path: str, context: WireContext
) -> Iterator[Violation]:
    if isinstance(inside, Field):
        yield from _check_field(value, inside, path, context)
    elif isinstance(inside, Choice):
        yield from _check_choice(value, inside, path, context)
    elif isinstance(value, dict):
        yield from _check_object(value, inside, path, context)
    else:
        yield Violation("W03", path, f"must be an object, not {_name(value)}")


def _check_choice(value: object, choice: Choice, path: str, context: WireContext) -> Iterator[Violation]:
    if not isinstance(value, dict):
        yield Violation("W03", path, f"must be an object, not {_name(value)}")
        return
    tag = value.get(choice.tag)
    if tag is None and choice.default is not None:
        tag = choice.default
    if not isinstance(tag, str):
        yield Violation(choice.rule, f"{path}.{choice.tag}", "the field is missing or no string")
        return
    shape = choice.shapes.get(tag)
    if shape is None and tag.startswith(choice.prefixes):
        shape = choice.prefixed
    if shape is not None:
        yield from _check_object(value, shape, path, context)
    elif tag in choice.elsewhere:
        yield Violation(choice.rule, f"{path}.{choice.tag}", f"{tag!r} does not belong here")
    else:
        yield Violation(choice.unknown_rule, f"{path}.{choice.tag}", f"{tag!r} is not known here")


def _check_object(value: Mapping[str, Any], shape: Shape, path: str, context: WireContext) -> Iterator[Violation]:
    if shape.betas and not _has_any(shape.betas, context):
        yield Violation(shape.beta_rule, path, _needs(shape.betas))
    prefix = f"{path}." if path else ""
    for name, item in value.items():
        field = shape.fields.get(name)
        if field is not None:
            yield from _check_field(item, field, prefix + name, context)
        elif name in shape.refused:
            yield Violation(shape.refused[name], prefix + name, "the key is not permitted here")
        elif not shape.is_open:
            yield Violation("L09", prefix + name, "the key is not known here")
    for name, field in shape.fields.items():
        if field.required and name not in value:
            yield Violation(field.rule, prefix + name, "the field is missing")


def _check_field(value: object, field: Field, path: str, context: WireContext) -> Iterator[Violation]:
    if field.betas and not _has_any(field.betas, context):
        yield Violation(field.beta_rule, path, _needs(field.betas))
        return
    if value is None and not field.required:
        return
    if field.or_text and isinstance(value, str):
        return
    if not isinstance(value, _PYTHON_TYPES[field.kind]) or (isinstance(value, bool) and _is_number(field.kind)):
        yield Violation(field.rule, path, f"must be {field.kind.value}, not {_name(value)}")
        return
    if field.values and value not in field.values:
        yield Violation(field.rule, path, f"{value!r} is none of {', '.join(field.values)}")
    if field.inside is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _check_inside(item, field.inside, f"{path}[{index}]", context)
    else:
        yield from _check_inside(value, field.inside, path, context)


def _is_number(kind: Kind) -> bool:
    return kind is Kind.INTEGER or kind is Kind.NUMBER


def _has_any(betas: tuple[str, ...], context: WireContext) -> bool:
    return any(beta in context.betas for beta in betas)


def _needs(betas: tuple[str, ...]) -> str:
    return f"needs the beta header {' or '.join(betas)}"


_NAMES = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
}


def _name(value: object) -> str:
    return _NAMES.get(type(value), "an object")
