"""The third judge of the wire rules: the request types of the official SDK, field by field.

Types see shapes only: which keys stand where, which are needed, which words are allowed. So each legal neighbor must be buildable from them, and of the
illegal bodies those that break a shape must not be. The tables name every other case with its reason.
"""

from __future__ import annotations

import collections.abc
import functools
import types
import typing
from typing import Any, NotRequired, Required

import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming
from typing_extensions import get_type_hints, is_typeddict

from compositor.types.json import decode_json
from tests.conformance.test_wire_rules import CASES, NAMES, Case, _data

pytestmark = pytest.mark.edges


def fits(value: Any, kind: Any) -> bool:
    """Whether decoded JSON is a value of a type of the SDK. A key that a TypedDict does not know does not fit."""
    if kind in (Any, object):
        return True
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, Required, NotRequired):
        return fits(value, arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if is_typeddict(kind):
        return fits_fields(value, kind)
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        return isinstance(value, list) and all(fits(item, arguments[0]) for item in value)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict) and all(fits(item, arguments[1]) for item in value.values())
    if kind is type(None):
        return value is None
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(kind, type) and kind in (str, bool) and isinstance(value, kind)


def fits_fields(value: Any, kind: Any) -> bool:
    if not isinstance(value, dict):
        return False
    fields = hints_of(kind)
    known = {name: hint for name, hint in fields.items() if name in value}
    # The SDK's annotations are text, so `__required_keys__` does not know them.
    needed = {name for name, hint in fields.items() if typing.get_origin(hint) is Required}
    return (
        needed <= value.keys()
        and value.keys() <= fields.keys()
        and all(fits(value[name], hint) for name, hint in known.items())
    )


@functools.cache
def hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def is_buildable(case: Case, name: str) -> bool:
    """A body as the SDK would be given it: streaming and the version are arguments of its own."""
    body = decode_json(_data(case.fields, name))
    if isinstance(body, dict):
        body.pop("stream", None)
        context = case.fields.get("legal_context" if name == "legal" else "context", case.fields.get("context", {}))
        if context.get("counting"):
            body.setdefault("max_tokens", 1)
    return fits(body, MessageCreateParamsNonStreaming)


# Legal neighbors that the types refuse.
NOT_BUILDABLE = {
    "L10-1": "sampling fields of the older API version; the SDK knows the current one only",
    "L12-0": "its citation lacks the place in the source; the rule is about its being there at all",
    "L132-0": "its citation lacks the place in the source; the rule is about the marker inside",
}
# Rules about a shape, which types can see. All other rules are about values, numbers, betas and neighbors.
SHAPES = frozenset({
    "L03", "L09", "L10", "L39", "L40", "L62", "L77", "L89", "L95", "L130", "L131", "L132", "W03", "W05",
})  # fmt: skip
# Illegal bodies beyond these that the types refuse as well: the case breaks its rule by a word or key that no type allows.
ALSO_A_SHAPE = {
    "L12-0": "a citation without its place in the source",
    "L12-1": "a citation without its place in the source",
    "L76-0": "no signature at all",
    "L37-0": "an unknown key inside output_config",
    "L37-2": "output_config on a user message",
    "L64-0": "a block that no result holds",
    "L104-3": "a key that a toolset does not have",
    "L144-0": "a media type outside the list",
    "L154-1": "a trigger outside the list",
}


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_legal_neighbor_can_be_built_from_the_types(case: Case) -> None:
    label = f"{case.rule}-{case.number}"
    if "legal" in case.fields:
        assert is_buildable(case, "legal") is (label not in NOT_BUILDABLE)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_an_illegal_body_is_refused_by_the_types_where_its_shape_is_at_fault(case: Case) -> None:
    label = f"{case.rule}-{case.number}"
    if "illegal" in case.fields:
        assert is_buildable(case, "illegal") is not (case.rule in SHAPES or label in ALSO_A_SHAPE)


def test_the_tables_name_cases_that_exist() -> None:
    assert {*NOT_BUILDABLE, *ALSO_A_SHAPE} <= set(NAMES)
    assert {case.rule for case in CASES} >= SHAPES
