"""Legal input schemas for tools that others define (L102, F11).

Decides how a schema that is valid elsewhere is brought into the form the API takes, or that its tool is left out. The same
schema always gives the same bytes. Never touches a schema that is legal already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.json import decode_json, raw_json
from compositor.types.tools import ToolDefinition

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_UNIONS: Final = ("allOf", "anyOf", "oneOf")
# A root may point at a definition that points on; a circle of pointers ends here.
_MAX_HOPS: Final = 16


class FittedSchema(Struct, frozen=True):
    """A legal schema; `notes` say in words what had to change, `alternatives` what the model must be told in the description."""

    schema: Raw
    notes: tuple[str, ...] = ()
    alternatives: str = ""


class UnfitSchema(Struct, frozen=True):
    """No legal form can be built."""

    reason: str


def fit_definitions(tools: Iterable[ToolDefinition]) -> tuple[tuple[ToolDefinition, ...], tuple[Diagnostic, ...]]:
    """`tools` with legal schemas. A tool whose schema has no legal form is left out with a warning; the others stay."""
    fitted: list[ToolDefinition] = []
    diagnostics: list[Diagnostic] = []
    for tool in tools:
        result = fit_schema(tool.input_schema)
        if isinstance(result, UnfitSchema):
            message = f"tool {tool.name!r} is left out: its input schema {result.reason} (L102)"
            diagnostics.append(Diagnostic("tools.schema_unfit", message, tool.name, step="tools.schema"))
            continue
        if result.notes:
            message = f"the input schema of tool {tool.name!r} was changed: {'; '.join(result.notes)} (L102)"
            diagnostics.append(Diagnostic("tools.schema_changed", message, tool.name, Severity.INFO, "tools.schema"))
        fitted.append(_with_schema(tool, result))
    return tuple(fitted), tuple(diagnostics)


def fit_schema(raw: Raw) -> FittedSchema | UnfitSchema:
    """The legal form of one input schema: an object schema without a union at its root, valid under JSON Schema 2020-12.

    Never raises, whatever a server sends.
    """
    try:
        schema = decode_json(bytes(raw))
        return _fitted(schema, raw) if isinstance(schema, dict) else UnfitSchema("is no JSON object")
    except ValueError:
        return UnfitSchema("is no JSON")
    except RecursionError:
        return UnfitSchema("is nested too deep")


def _fitted(schema: dict[str, Any], raw: Raw) -> FittedSchema | UnfitSchema:
    notes: list[str] = []
    fitted = _resolved(schema, notes)
    if isinstance(fitted, UnfitSchema):
        return fitted
    fitted, alternatives = _flattened(fitted, notes)
    fitted = _as_object(fitted, notes)
    if isinstance(fitted, UnfitSchema):
        return fitted
    problem = _invalid(fitted)
    if problem is not None:
        return UnfitSchema(f"is no valid JSON Schema 2020-12: {problem}")
    return FittedSchema(raw_json(fitted), tuple(notes), alternatives) if notes else FittedSchema(raw)


def _with_schema(tool: ToolDefinition, fitted: FittedSchema) -> ToolDefinition:
    if not fitted.notes:
        return tool
    description = "\n\n".join(part for part in (tool.description, fitted.alternatives) if part)
    return replace(tool, input_schema=fitted.schema, description=description)


def _resolved(schema: dict[str, Any], notes: list[str]) -> dict[str, Any] | UnfitSchema:
    """The root without a `$ref`: what it points to is merged in, `$defs` stay for the pointers further in."""
    root = schema
    for _ in range(_MAX_HOPS):
        reference = schema.get("$ref")
        if reference is None:
            return schema
        target = _target(root, reference)
        if target is None:
            return UnfitSchema(f"points to {reference!r}, which is not in it")
        notes.append(f"the reference {reference!r} at its root was resolved")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = _merged(target, rest, both_required=True)
    return UnfitSchema("has references at its root that go in a circle")


def _target(root: Mapping[str, Any], reference: object) -> dict[str, Any] | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else None


def _flattened(schema: dict[str, Any], notes: list[str]) -> tuple[dict[str, Any], str]:
    """Unions at the root merged into one properties map: `allOf` asks for all of it, a choice only for what is common."""
    told: list[str] = []
    root = schema
    for keyword in _UNIONS:
        if keyword not in schema:
            continue
        branches = [_branch(root, branch) for branch in _listed(schema[keyword]) if isinstance(branch, Mapping)]
        schema = {key: value for key, value in schema.items() if key != keyword}
        is_choice = keyword != "allOf"
        union = _union(branches, is_choice=is_choice)
        schema = _merged(schema, union, both_required=True)
        notes.append(f"{keyword!r} at its root was merged into one list of properties")
        if is_choice and len(branches) > 1:
            told.append(_told(keyword, branches))
    return schema, "\n".join(told)


def _branch(root: Mapping[str, Any], branch: Mapping[str, Any]) -> dict[str, Any]:
    target = _target(root, branch.get("$ref"))
    return dict(branch) if target is None else _merged(target, branch, both_required=True)


def _union(branches: list[dict[str, Any]], *, is_choice: bool) -> dict[str, Any]:
    merged: dict[str, Any] = branches[0] if branches else {}
    for branch in branches[1:]:
        merged = _merged(merged, branch, both_required=not is_choice)
    if is_choice:
        # A branch may forbid what another one needs.
        merged = {key: value for key, value in merged.items() if key in {"properties", "required", "$defs"}}
    return merged


def _merged(first: Mapping[str, Any], second: Mapping[str, Any], *, both_required: bool) -> dict[str, Any]:
    """Two object schemas as one. `$ref` of the first goes on; a property that both define differently takes either form."""
    merged = {**second, **first} if "$ref" in first else {**first, **second}
    properties = dict(_mapping(first.get("properties")))
    for name, value in _mapping(second.get("properties")).items():
        known = properties.get(name, value)
        properties[name] = value if known == value else {"anyOf": [known, value]}
    if properties:
        merged["properties"] = properties
    required = _required(first, second, both=both_required)
    merged.pop("required", None)
    if required:
        merged["required"] = required
    return merged


def _required(first: Mapping[str, Any], second: Mapping[str, Any], *, both: bool) -> list[str]:
    one, two = _names(first), _names(second)
    return [*one, *(name for name in two if name not in one)] if both else [name for name in one if name in two]


def _names(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _told(keyword: str, branches: list[dict[str, Any]]) -> str:
    how = "exactly one" if keyword == "oneOf" else "at least one"
    sets = [
        ", ".join(f"`{name}`" for name in _names(branch) or _mapping(branch.get("properties"))) for branch in branches
    ]
    return f"Give {how} of these sets of arguments: {'; or '.join(each or 'none' for each in sets)}."


def _as_object(schema: dict[str, Any], notes: list[str]) -> dict[str, Any] | UnfitSchema:
    kind = schema.get("type")
    if kind != "object":
        if not (kind is None or (isinstance(kind, list) and "object" in kind)):
            return UnfitSchema(f"has the type {kind!r}, not 'object'")
        notes.append("its type was set to 'object'")
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    if not isinstance(schema.get("properties"), Mapping):
        notes.append("an empty list of properties was added")
        schema = {**schema, "properties": {}}
    if schema.get("$schema", DIALECT) != DIALECT:
        notes.append(f"the dialect {schema['$schema']!r} was left out")
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    return schema


def _invalid(schema: dict[str, Any]) -> str | None:
    from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError, meta

    try:
        meta.validate({**schema, "$schema": DIALECT})
        # What the meta-schema does not see: references that lead nowhere, patterns that are no regular expressions.
        Draft202012Validator({**schema, "$schema": DIALECT}, retriever=_nothing)
    except (ValidationError, ReferencingError, ValueError) as problem:
        return str(getattr(problem, "message", problem)).splitlines()[0]
    return None


def _nothing(_address: str) -> dict[str, Any]:
    """What stands at another address is never fetched, and says nothing against the schema."""
    return {}
