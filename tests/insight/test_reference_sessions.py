"""The three reference sessions and the sums of the cache, as the benchmarks make them: what the documentation claims holds."""

from __future__ import annotations

import pytest

from benchmarks import cache, sums


@pytest.fixture(scope="module")
def costs() -> dict[tuple[str, str], cache.Costs]:
    return {(row.scene, row.rule): row for row in cache.rows()}


@pytest.fixture(scope="module")
def found() -> dict[str, sums.Sum]:
    return {row.what: row for row in sums.rows()}


@pytest.mark.req("R253", "R254", "R268")
@pytest.mark.parametrize("scene", ["narrow", "wide", "resume"])
def test_ours_costs_what_the_oracle_costs_and_never_misses(
    costs: dict[tuple[str, str], cache.Costs], scene: str
) -> None:
    ours = costs[scene, "ours"]
    assert round(ours.ratio, 3) == 1.0
    assert ours.misses == 0
    assert all(ours.ratio <= other.ratio + 1e-9 for (name, _), other in costs.items() if name == scene)


def test_wide_turns_and_resumes_cost_others_more(costs: dict[tuple[str, str], cache.Costs]) -> None:
    assert costs["wide", "one system and one tail marker"].ratio > 1.8
    assert costs["wide", "automatic"].ratio > 1.8
    assert costs["resume", "last two messages"].ratio > 1.4


@pytest.mark.req("R263")
def test_pauses_cost_marker_users_more_than_no_caching_and_us_less(found: dict[str, sums.Sum]) -> None:
    # Writes of five minutes cost 1.25 times the input, and nothing is ever read.
    for rule in ("one system and one tail marker", "last two messages", "automatic"):
        assert found[f"a pause before every request: {rule}"].ratio == pytest.approx(1.25, abs=0.01)
    assert found["a pause before every request: ours"].ratio < 0.6


@pytest.mark.req("R269")
def test_announcements_against_rewriting(found: dict[str, sums.Sum]) -> None:
    row = found["rewritten instructions, tokens not read (50 turns)"]
    # 50 times 10K tokens against 2 announcements of 10K.
    assert row.value == pytest.approx(500_000, rel=0.01)
    assert row.reference == pytest.approx(20_000, rel=0.02)


@pytest.mark.req("R279", "R285")
def test_a_large_system_prompt_costs_a_tenth_to_a_fifth(found: dict[str, sums.Sum]) -> None:
    row = found["a system prompt of 15K tokens for 100 turns"]
    assert row.reference == 1_500_000
    assert 0.10 <= row.ratio <= 0.20


@pytest.mark.req("R280")
def test_requests_of_one_session_differ_by_about_ten_times(found: dict[str, sums.Sum]) -> None:
    assert 5 <= found["the dearest request of the narrow session"].ratio <= 20
