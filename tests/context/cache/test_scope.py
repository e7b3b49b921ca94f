"""The table of scopes: provider, MCP tools, what is offered (R086 to R090, R095)."""

from __future__ import annotations

import msgspec
import pytest

from compositor.config.platforms import known_platforms
from compositor.context.cache.scope import ScopePlan, plan_scope
from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.types.snapshot import Facts
from tests.context.compaction.test_cut import prompt
from tests.properties.building import HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL

BOTH = ("global", "org")


@pytest.mark.req("R086", "R087", "R088", "R089", "R090", "R251")
@pytest.mark.parametrize(
    ("offered", "servers", "first", "expected"),
    [
        (BOTH, True, True, (1, "org", "org")),
        (("global",), True, True, (1, None, None)),
        ((), True, True, (1, None, None)),
        (BOTH, False, True, (2, "global", None)),
        (("org",), False, True, (2, None, None)),
        ((), False, True, (2, None, None)),
        (BOTH, False, False, (3, "org", "org")),
        (("project",), True, False, (3, "project", "project")),
        ((), False, False, (3, None, None)),
    ],
)
def test_the_three_scenarios(
    offered: tuple[str, ...], servers: bool, first: bool, expected: tuple[int, str | None, str | None]
) -> None:
    found = plan_scope(offered, has_server_tools=servers, is_first_party=first)
    assert (found.scenario, found.static, found.dynamic) == expected
    assert found.reason


@pytest.mark.req("R087")
def test_the_second_block_is_shared_in_the_organization_where_that_is_wanted_and_offered() -> None:
    def dynamic(offered: tuple[str, ...], wanted: str | None) -> str | None:
        return plan_scope(offered, has_server_tools=False, is_first_party=True, dynamic=wanted).dynamic

    assert dynamic(BOTH, "org") == "org"
    assert dynamic(BOTH, None) is None
    assert dynamic(("global",), "org") is None


@pytest.mark.req("R421")
def test_the_debug_switch_turns_sharing_off() -> None:
    found = plan_scope(BOTH, has_server_tools=False, is_first_party=True, is_debugged=True)
    assert (found.static, found.dynamic) == (None, None)
    assert "R421" in found.reason


def test_no_public_platform_offers_a_scope() -> None:
    assert all(not platform.scopes for platform in known_platforms())


@pytest.mark.req("R086", "R095")
def test_a_scope_stands_in_the_markers_of_the_system_prompt_and_nowhere_behind_it() -> None:
    plan = ScopePlan(scenario=3, static="org", dynamic="org", reason="a test")
    prefix = extend(empty_prefix(HEAD, Facts(model=MODEL), WIRE), [prompt("u")])
    options = msgspec.structs.replace(OPTIONS, scopes=(plan.static, plan.dynamic))
    body = msgspec.json.decode(finish(prefix, options).body)
    assert [block["cache_control"] for block in body["system"]] == [{"type": "ephemeral", "scope": "org"}] * 2
    assert '"scope"' not in msgspec.json.encode(body["messages"]).decode()
    plain = msgspec.json.decode(finish(prefix, OPTIONS).body)
    assert "scope" not in msgspec.json.encode(plain).decode()
