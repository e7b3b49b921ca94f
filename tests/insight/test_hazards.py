"""Recorded sessions as hazards: breaks by cause, servers nobody calls, hooks that fail; each has a cure."""

import msgspec
import pytest

from compositor.insight.hazards import ENOUGH, find_hazards
from compositor.insight.replay.breaks import find_breaks
from compositor.insight.replay.cures import CURES
from compositor.insight.replay.rows import Cause, Session
from tests.insight.replay.planted import BREAKS, begun


def session(kind: str | None = None, **sources: int) -> Session:
    found = (begun() if kind is None else BREAKS[kind][1]()).replay()
    named = {name.replace("_of_", " of "): tokens for name, tokens in sources.items()}
    return msgspec.structs.replace(found, breaks=find_breaks(found.requests), sources={**found.sources, **named})


def test_a_sound_project_has_none() -> None:
    assert find_hazards([session()] * ENOUGH, ()) == ()


@pytest.mark.parametrize("kind", BREAKS)
def test_every_cause_has_a_cure(kind: str) -> None:
    (found,) = find_hazards([session(kind)], ())
    assert found.what == f"cache: {BREAKS[kind][0]}"
    assert "1 breaks" in found.detail
    assert found.cure == CURES[Cause(BREAKS[kind][0])]


@pytest.mark.req("R198")
def test_a_system_prompt_that_changes_gets_the_standard_remedy() -> None:
    """What changes fast belongs to the tail: a section that broke the cache is moved to an attachment."""
    assert "told at the tail, as a note" in CURES[Cause.SYSTEM]
    kinds = [kind for kind in BREAKS if BREAKS[kind][0] == Cause.SYSTEM.value]
    assert kinds
    (found,) = find_hazards([session(kinds[0])], ())
    assert found.cure == CURES[Cause.SYSTEM]


def test_a_server_that_nobody_calls_is_named_once_there_are_enough_sessions() -> None:
    sessions = [session(result_of_mcp__git__log=5)] * ENOUGH
    (found,) = find_hazards(sessions, {"git", "github"})
    assert found.what == "MCP server github"
    assert find_hazards(sessions[1:], {"github"}) == ()


def test_a_server_that_takes_more_than_it_brings_is_weighed() -> None:
    sessions = [session(result_of_mcp__git__log=50), session(result_of_mcp__big__read=90_000)]
    requests = sum(len(one.requests) for one in sessions)
    weights = {"git": 5_000, "big": 5_000, "light": 100, "unused": 5_000}
    (found,) = find_hazards(sessions, (), weights)
    assert found.what == "MCP server git"
    assert (
        f"5,000 tokens of every request, {5_000 * requests:,} in {requests} of them; its results brought 50"
        in found.detail
    )
    assert "deferred" in found.cure


def test_hooks_that_failed_are_named() -> None:
    recorder = begun()
    recorder.attach(type="hook_non_blocking_error", hookName="Stop", stderr="no such file")
    recorder.turn()
    (found,) = find_hazards([recorder.replay()], ())
    assert (found.what, "1 recorded" in found.detail) == ("hooks", True)
