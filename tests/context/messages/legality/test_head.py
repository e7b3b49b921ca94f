"""Our own head, options and planned markers, judged without a body."""

import pytest
from msgspec import Raw

from compositor.context.messages.legality import (
    Violation,
    WireContext,
    check_head,
    check_regions,
    check_size,
    thinking_kind,
)
from compositor.context.messages.legality.head import option_fields
from compositor.types.blocks import TextBlock, ThinkingBlock
from compositor.types.messages import WireMessage
from compositor.types.request import CacheRegion, MarkerPlan, RequestOptions, Ttl
from tests.context.messages.legality.histories import assistant, head, tool, user

HEAD = head(tool("Read"), tool("Late", deferred=True), system_texts=("You help.", "Here."))
MESSAGES = [user("a"), assistant(ThinkingBlock("hm", "sig"), "b"), user(TextBlock(""), "c")]


def _options(**fields: object) -> RequestOptions:
    return RequestOptions(model="m", max_tokens=4096, **fields)  # type: ignore[arg-type]


def _mark(region: CacheRegion, index: int, block: int = 0, ttl: Ttl = Ttl.SHORT) -> MarkerPlan:
    return MarkerPlan(region=region, index=index, block=block, ttl=ttl)


def _message_at(index: int) -> WireMessage:
    return MESSAGES[index]


def _planned(*markers: MarkerPlan) -> set[tuple[str, str]]:
    return _pairs(check_head(HEAD, _options(), markers, WireContext(), message_at=_message_at))


def _pairs(violations: tuple[Violation, ...]) -> set[tuple[str, str]]:
    return {(violation.rule, violation.path) for violation in violations}


def test_a_good_plan_is_clean() -> None:
    assert _planned(_mark(CacheRegion.SYSTEM, 1), _mark(CacheRegion.MESSAGES, 2, 1)) == set()


def test_a_plan_is_judged_in_wire_order_whatever_its_own_order() -> None:
    late, early = _mark(CacheRegion.MESSAGES, 0), _mark(CacheRegion.TOOLS, 0, ttl=Ttl.LONG)
    assert _planned(late, early) == set()
    short, long = _mark(CacheRegion.SYSTEM, 0), _mark(CacheRegion.MESSAGES, 0, ttl=Ttl.LONG)
    assert _planned(long, short) == {("L121", "messages[0].content[0].cache_control.ttl")}


def test_five_markers_are_one_too_many() -> None:
    markers = [_mark(CacheRegion.TOOLS, 0), _mark(CacheRegion.SYSTEM, 0), _mark(CacheRegion.SYSTEM, 1)]
    markers += [_mark(CacheRegion.MESSAGES, 0), _mark(CacheRegion.MESSAGES, 2, 1)]
    assert _planned(*markers) == {("L120", "messages[2].content[1].cache_control")}


@pytest.mark.parametrize(
    ("marker", "rule"),
    [
        (_mark(CacheRegion.TOOLS, 1), "L106"),
        (_mark(CacheRegion.MESSAGES, 1), "L89"),
        (_mark(CacheRegion.MESSAGES, 2), "L122"),
    ],
)
def test_what_may_not_be_marked(marker: MarkerPlan, rule: str) -> None:
    assert _planned(marker) == {(rule, f"{marker.path}.cache_control")}


def test_options_are_judged_by_version_and_model() -> None:
    options = _options(temperature=1.0, thinking=Raw(b'{"type":"enabled","budget_tokens":1000}'))
    context = WireContext(thinking=("adaptive",), max_output=4000)
    assert _pairs(check_head(HEAD, options, (), context)) == {
        ("L10", "temperature"),
        ("L18", "max_tokens"),
        ("L90", "thinking.budget_tokens"),
        ("L91", "thinking.type"),
    }
    assert thinking_kind(option_fields(options)) == "enabled"
    assert thinking_kind(option_fields(_options())) is None


def test_the_shape_of_raw_options_is_judged() -> None:
    options = _options(tool_choice=Raw(b'{"type":"tool"}'), metadata=Raw(b'{"user":"x"}'))
    assert _pairs(check_head(HEAD, options, (), WireContext())) == {
        ("W03", "tool_choice.name"),
        ("L09", "metadata.user"),
    }


def test_a_head_alone_can_be_judged_once() -> None:
    bad = head(tool("a.b"), tool("Late", deferred=True), tool("Late", deferred=True))
    assert _pairs(check_regions(bad, WireContext())) == {("L100", "tools[0].name"), ("L101", "tools[2].name")}


def test_the_size_is_judged_by_the_platform() -> None:
    assert [*check_size(20 * 1024 * 1024, WireContext(body_limit=20 * 1024 * 1024))] == []
    (found,) = check_size(20 * 1024 * 1024 + 1, WireContext(body_limit=20 * 1024 * 1024))
    assert (found.rule, found.path) == ("L23", "body")


@pytest.mark.parametrize(
    ("version", "is_current"),
    [
        ("2026-10-21", True),
        ("2023-06-01", False),
        ("bedrock-2023-05-31", False),
        ("vertex-2023-10-16", False),
        ("2027-01-01", True),
    ],
)
def test_a_version_is_compared_by_its_date(version: str, is_current: bool) -> None:
    assert WireContext(api_version=version).is_current is is_current
