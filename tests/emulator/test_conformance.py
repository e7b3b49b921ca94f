"""The stand-in against the case files of the wire rules: the smallest illegal body is refused under its rule, its legal neighbor taken.

The files are data only; the judge here shares no line with the product's own rules. Where the two disagree, the table says why.
"""

import json

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.emulator.refusal import Refusal
from compositor.emulator.rules import check_request
from tests.conformance.test_wire_rules import CASES, NAMES, _data

# Case -> why the stand-in takes a body that our own rules remark on.
TAKEN = {
    "L86-0": "only models without adaptive thinking refuse it; tests/emulator/test_rules.py shows it there",
    "L87-0": "refused in 2025; today's documents say that such thinking is ignored",
    "L87-1": "refused in 2025; today's documents say that such thinking is ignored",
    "W07-0": "our own remark; the service was recorded to take it",
    "W07-1": "our own remark; the service was recorded to take it",
    "W09-0": "whether it is refused was never seen",
    "W09-1": "whether it is refused was never seen",
    "W10-0": "refused in early 2025, taken since",
}
# Case -> (the rule under which the stand-in refuses, why it is another one).
OTHER_RULE = {}
# Legal neighbor -> (the rule under which the stand-in refuses it, why).
REFUSED = {}


def judge(data, context):
    """What the stand-in says to `data` in the circumstances of a case file; a fact the case leaves open is open here too."""
    if len(data) > context.get("body_limit", 32 * 1024 * 1024):
        return Refusal(message="Request exceeds the maximum size", status=413, type="request_too_large", rule="L23")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return Refusal(message="not valid JSON", rule="W02")
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in context.items()
        if name not in {"api_version", "betas", "counting", "versioned_body"} and value is not None
    }
    profile = ServiceProfile(**{
        "system_role": True, "prefill": True, "window": 1_000_000, "max_output": 10**9,
        "version_in_body": context.get("versioned_body", False), **given,
    })  # fmt: skip
    headers = {
        "anthropic-version": context.get("api_version", "2026-10-21"),
        "anthropic-beta": ",".join(context.get("betas", ())),
    }
    return check_request(body, headers, profile, counting=context.get("counting", False))


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_illegal_body_is_refused_under_its_rule(case):
    found = judge(_data(case.fields, "illegal"), case.fields.get("context", {}))
    name = f"{case.rule}-{case.number}"
    if name in TAKEN:
        assert found is None
        return
    assert found is not None
    assert found.status in {400, 413}
    rule, _why = OTHER_RULE.get(name, (case.rule, ""))
    # Form and foreign tags have no number on the wire page.
    assert found.rule == (None if rule in {"W03", "W05"} and found.rule is None else rule), found.message


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_its_legal_neighbor_is_taken(case):
    context = case.fields.get("legal_context", case.fields.get("context", {}))
    found = judge(_data(case.fields, "legal"), context)
    rule = REFUSED.get(f"{case.rule}-{case.number}", (None, ""))[0]
    assert (found.rule if found else None) == rule, found


def test_the_tables_of_disagreement_name_cases_that_exist():
    assert {*TAKEN, *OTHER_RULE, *REFUSED} <= set(NAMES)
