"""What each source adds to a request: everything once, and behind the first request only what is new."""

import json
from pathlib import Path

import pytest

from compositor.context.explain import spans
from compositor.insight.contributions import Contribution, contributions
from compositor.runtime.events import RequestStarted
from compositor.types.provenance import Lane
from compositor.types.request import Compiled
from tests.runtime.long_run import LongRun

SCRIPT = json.dumps({"turns": [{"say": "I look.", "do": [{"read": "a.py"}]}, {"say": "one"}, {"say": "two"}]})


def bytes_of(compiled: Compiled) -> dict[tuple[str, str, str | None], int]:
    """The bytes of each source, from the spans that tile the body."""
    found: dict[tuple[str, str, str | None], int] = {}
    for span in spans(compiled):
        source = span.origin.source
        if span.origin.lane not in {Lane.WIRE, Lane.SCALAR}:
            key = (source.kind, source.name, source.path)
            found[key] = found.get(key, 0) + span.end - span.start
    return found


def summed(parts: tuple[Contribution, ...]) -> dict[tuple[str, str, str | None], int]:
    found: dict[tuple[str, str, str | None], int] = {}
    for part in parts:
        source = part.origin.source
        key = (source.kind, source.name, source.path)
        found[key] = found.get(key, 0) + part.size
    return found


@pytest.mark.anyio
@pytest.mark.req("R015")
async def test_contributions_are_the_bytes_that_the_spans_give_to_each_source(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SCRIPT)
    (run.project / "a.py").write_text("print(1)\n")
    (run.project / "CLAUDE.md").write_text("Speak plainly.\n")
    async with run.opened() as agent:
        await agent.submit("look")
        await agent.submit("and now?")
    first, second, third = (event.compiled for event in run.of(RequestStarted))
    whole = summed(contributions(first))
    assert whole == bytes_of(first)
    assert ("memory", "project", str(run.project / "CLAUDE.md")) in whole
    # What later requests add, and nothing that the first held already.
    assert {**whole, **summed(contributions(second, first))} == bytes_of(second)
    assert {**whole, **summed(contributions(second, first)), **summed(contributions(third, second))} == bytes_of(third)
    assert not summed(contributions(second, first)).keys() & whole.keys()


@pytest.mark.anyio
async def test_behind_another_head_everything_is_told_again(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SCRIPT)
    (run.project / "a.py").write_text("print(1)\n")
    async with run.opened() as agent:
        await agent.submit("look")
        (run.project / "CLAUDE.md").write_text("Speak plainly.\n")
        await agent.clear()
        await agent.submit("and now?")
    _, before, after = (event.compiled for event in run.of(RequestStarted))
    assert summed(contributions(after, before)) == bytes_of(after)
