"""Every planted break is found with the cause the record gives evidence of, and nothing else is taken for one."""

import sys
from itertools import pairwise

import pytest

from compositor.insight.replay.breaks import find_breaks
from tests.insight.replay.planted import BREAKS, HARMLESS
from tests.insight.replay.recorder import Recorder, found_in


@pytest.mark.req("R284")
@pytest.mark.parametrize("kind", BREAKS)
def test_a_planted_break_is_found_with_its_cause(kind: str) -> None:
    cause, play = BREAKS[kind]
    recorder = play()
    assert found_in(recorder) == [(name, cause) for name in recorder.planted]
    assert len(recorder.planted) == 1


@pytest.mark.req("R284")
@pytest.mark.parametrize("kind", HARMLESS)
def test_a_harmless_change_is_no_break(kind: str) -> None:
    recorder = HARMLESS[kind]()
    assert found_in(recorder) == []
    assert len(recorder.replay().requests) >= 6


def test_precision_and_recall(capsys: pytest.CaptureFixture[str]) -> None:
    played = [play() for _, play in BREAKS.values()] + [play() for play in HARMLESS.values()]
    planted = sum(len(recorder.planted) for recorder in played)
    found = [(recorder, name) for recorder in played for name, _ in found_in(recorder)]
    right = sum(name in recorder.planted for recorder, name in found)
    drops = sum(map(naive, played))
    line = (
        f"{len(BREAKS)} kinds of breaks, {len(HARMLESS)} harmless changes: precision {right / len(found):.2f}, "
        f"recall {right / planted:.2f}; a rule that looks at drops alone would flag {drops}"
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
    assert (len(BREAKS) >= 20, len(HARMLESS) >= 20) == (True, True)
    assert right == planted == len(found)
    assert drops > planted


def naive(recorder: Recorder) -> int:
    """How many requests read less than the one before them in the file did."""
    reads = [request.usage.read if request.usage else 0 for request in recorder.replay().requests]
    return sum(later < earlier for earlier, later in pairwise(reads))


def test_a_break_says_what_it_saw() -> None:
    recorder = BREAKS["a pause of six minutes"][1]()
    (found,) = find_breaks(recorder.replay().requests)
    assert found.lost == found.expected - found.read > 5_000
    assert "were paid again" in found.evidence[0]
    assert "380 s passed" in found.evidence[1] or "360 s passed" in found.evidence[1]
    # Written again at 3.75 instead of read at 0.30 dollars for a million tokens.
    assert found.dollars == pytest.approx(found.lost * (3.75 - 0.30) / 1e6)
