"""Inputs against schemas; a schema that cannot be used is no free pass."""

import pytest
from msgspec import Raw

from compositor.policy.schema import MAX_PROBLEMS, check_schema
from compositor.types.json import raw_json


def test_a_value_of_the_right_shape_has_no_problems() -> None:
    schema = raw_json({"$defs": {"t": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/t"}}})
    assert check_schema(schema, {"a": "x"}) == ()


def test_each_problem_has_its_place() -> None:
    schema = raw_json({"properties": {"a": {"items": {"type": "integer"}}}})
    (problem,) = check_schema(schema, {"a": [1, "x"]})
    assert problem.startswith("a.1: ")


def test_the_number_of_problems_is_bounded() -> None:
    schema = raw_json({"items": {"type": "integer"}})
    assert len(check_schema(schema, ["x"] * 100)) == MAX_PROBLEMS


@pytest.mark.parametrize("reference", ["https://example.invalid/x.json", "file:///etc/passwd", "other.json", "urn:x:y"])
def test_a_reference_out_of_the_schema_is_never_followed(reference: str) -> None:
    with pytest.raises(ValueError, match=r"refers to|not present"):
        check_schema(raw_json({"$ref": reference}), {})


@pytest.mark.parametrize("data", [b"", b"[]", b'{"type": 3}'])
def test_what_is_no_schema_is_no_free_pass(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"schema|JSON|EOF|is not"):
        check_schema(Raw(data), {})
