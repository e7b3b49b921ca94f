"""Legal schemas for foreign tools, or a reason why there is none."""

import msgspec
import pytest

from compositor.context.tools.builtin import BUILTIN_TOOLS
from compositor.context.tools.schema import FittedSchema, UnfitSchema, fit_definitions, fit_schema
from compositor.types.json import raw_json
from compositor.types.tools import ToolDefinition, ToolOrigin

TEXT = {"type": "string"}
ATTACH = {
    "type": "object",
    "anyOf": [
        {"properties": {"content": TEXT}, "required": ["content"]},
        {"properties": {"url": TEXT}, "required": ["url"]},
    ],
}


def fitted(schema: object) -> FittedSchema:
    result = fit_schema(raw_json(schema))
    assert isinstance(result, FittedSchema)
    return result


def value(schema: object) -> object:
    return msgspec.json.decode(bytes(fitted(schema).schema))


def tool(name: str, schema: object) -> ToolDefinition:
    return ToolDefinition(name=name, description="Does.", input_schema=raw_json(schema), origin=ToolOrigin.MCP)


@pytest.mark.parametrize("definition", BUILTIN_TOOLS, ids=lambda definition: definition.name)
def test_a_legal_schema_keeps_its_bytes(definition: ToolDefinition) -> None:
    result = fit_schema(definition.input_schema)
    assert isinstance(result, FittedSchema)
    assert bytes(result.schema) == bytes(definition.input_schema)
    assert result.notes == ()


def test_a_choice_at_the_root_becomes_one_list_and_is_told_in_words() -> None:
    result = fitted(ATTACH)
    assert msgspec.json.decode(bytes(result.schema)) == {
        "type": "object",
        "properties": {"content": TEXT, "url": TEXT},
    }
    assert result.alternatives == "Give at least one of these sets of arguments: `content`; or `url`."


def test_only_what_all_branches_require_stays_required() -> None:
    schema = {
        "type": "object",
        "properties": {"id": TEXT},
        "required": ["id"],
        "oneOf": [
            {"properties": {"a": TEXT}, "required": ["a", "both"], "additionalProperties": False},
            {"properties": {"both": TEXT}, "required": ["both"]},
        ],
    }
    assert value(schema) == {
        "type": "object",
        "properties": {"id": TEXT, "a": TEXT, "both": TEXT},
        "required": ["id", "both"],
    }
    assert fitted(schema).alternatives.startswith("Give exactly one of")


def test_all_of_asks_for_everything() -> None:
    schema = {
        "allOf": [
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"properties": {"a": {"type": "integer"}, "b": TEXT}, "required": ["b"]},
        ]
    }
    assert value(schema) == {
        "type": "object",
        "properties": {"a": {"anyOf": [TEXT, {"type": "integer"}]}, "b": TEXT},
        "required": ["a", "b"],
    }
    assert fitted(schema).alternatives == ""


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"properties": {}}, {"type": ["object", "null"], "properties": {}}]
)
def test_missing_type_and_properties_are_added(schema: object) -> None:
    assert value(schema) == {"type": "object", "properties": {}}


def test_a_reference_at_the_root_is_resolved_and_inner_ones_stay() -> None:
    definitions = {"A": {"type": "object", "properties": {"x": {"$ref": "#/$defs/B"}}, "required": ["x"]}, "B": TEXT}
    result = value({"$ref": "#/$defs/A", "$defs": definitions})
    assert result == {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/B"}},
        "required": ["x"],
        "$defs": definitions,
    }


def test_an_older_dialect_is_left_out() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": TEXT}}
    assert value(schema) == {"type": "object", "properties": {"a": TEXT}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ([], "no JSON object"),
        ({"type": "string"}, "the type 'string'"),
        ({"type": "object", "properties": {"a": {"type": "colour"}}}, "no valid JSON Schema 2020-12"),
        ({"type": "object", "properties": {"a": {"exclusiveMinimum": True}}}, "no valid JSON Schema 2020-12"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "in a circle"),
        ({"$ref": "https://example.invalid/schema"}, "which is not in it"),
        ({"$ref": "#/$defs/Missing"}, "which is not in it"),
    ],
)
def test_a_schema_without_a_legal_form_says_why(schema: object, reason: str) -> None:
    result = fit_schema(raw_json(schema))
    assert isinstance(result, UnfitSchema)
    assert reason in result.reason


def test_what_is_no_json_has_no_legal_form() -> None:
    assert fit_schema(msgspec.Raw(b"{")) == UnfitSchema("is no JSON")


def test_one_bad_tool_costs_only_itself() -> None:
    good = [tool(f"good{number}", {"type": "object", "properties": {}}) for number in range(25)]
    tools, diagnostics = fit_definitions([*good, tool("attach", ATTACH), tool("broken", {"type": "string"})])
    assert [each.name for each in tools] == [*(each.name for each in good), "attach"]
    assert tools[:25] == tuple(good)
    assert tools[25].description.startswith("Does.\n\nGive at least one of")
    assert [(each.code, each.where) for each in diagnostics] == [
        ("tools.schema_changed", "attach"),
        ("tools.schema_unfit", "broken"),
    ]


def test_the_same_schema_gives_the_same_bytes() -> None:
    assert len({bytes(fitted(ATTACH).schema) for _ in range(20)}) == 1
