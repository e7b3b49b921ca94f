"""Every rule of the wire, one by one: the smallest body that breaks it, and its nearest legal neighbour.

The cases are files in `cases/`, one a rule. A body may hold `{"$repeat": n, "of": [...]}` inside a list,
`{"$text": n, "of": "a", "start": ""}` for a string of n characters, and `{"$tools": n}` for n deferred tools.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from compositor.context.messages.legality import RULES, WireContext, check_body
from compositor.types.diagnostics import Severity

FOLDER = Path(__file__).parent / "cases"


class Case(NamedTuple):
    rule: str
    number: int
    fields: dict[str, Any]


def _cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.json")):
        for number, fields in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            yield Case(path.stem, number, fields)


CASES = list(_cases())
NAMES = [f"{case.rule}-{case.number}" for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_illegal_body_breaks_this_rule_and_no_other(case: Case) -> None:
    expected = {(case.rule, case.fields["path"]), *map(tuple, case.fields.get("also", ()))}
    assert _found(_data(case.fields, "illegal"), _context(case.fields, "context")) == expected


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_its_legal_neighbor_breaks_none(case: Case) -> None:
    name = "legal_context" if "legal_context" in case.fields else "context"
    assert _found(_data(case.fields, "legal"), _context(case.fields, name)) == set()


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    assert {case.rule for case in CASES} == set(RULES)


def test_a_verified_rule_is_an_error_and_an_unverified_one_a_warning() -> None:
    assert {rule.id for rule in RULES.values() if rule.verified != (rule.severity is Severity.ERROR)} == set()


def _found(data: bytes, context: WireContext) -> set[tuple[str, str]]:
    return {(violation.rule, violation.path) for violation in check_body(data, context)}


def _context(fields: dict[str, Any], name: str) -> WireContext:
    return msgspec.convert(fields.get(name, {}), WireContext)


def _data(fields: dict[str, Any], name: str) -> bytes:
    if f"{name}_text" in fields:
        return fields[f"{name}_text"].encode()
    if f"{name}_latin1" in fields:
        return fields[f"{name}_latin1"].encode("latin-1")
    return msgspec.json.encode(_expanded(fields[name]))


def _expanded(value: Any) -> Any:
    if isinstance(value, list):
        return [item for element in value for item in _elements(element)]
    if not isinstance(value, dict):
        return value
    if "$text" in value:
        start = value.get("start", "")
        return start + value["of"] * (value["$text"] - len(start))
    return {key: _expanded(item) for key, item in value.items()}


def _elements(element: Any) -> Iterator[Any]:
    if isinstance(element, dict) and "$repeat" in element:
        yield from _expanded(element["of"]) * element["$repeat"]
    elif isinstance(element, dict) and "$tools" in element:
        for number in range(element["$tools"]):
            yield {"name": f"tool{number}", "input_schema": {"type": "object"}, "defer_loading": True}
    else:
        yield _expanded(element)
