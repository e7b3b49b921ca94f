"""Every public transcript replays; reconstructed prompts against reported ones, file by file."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from compositor.adapters.replay.reading import find_transcripts, replay_files
from compositor.insight.replay.report import Gathering
from compositor.insight.replay.rows import Session
from compositor.insight.replay.totals import Ledger

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "transcripts"
NO_TRANSCRIPT = "journal.jsonl"
# Written by hand for a test: no service ever reported their figures.
HAND_WRITTEN = ("/small/",)

pytestmark = pytest.mark.corpus


def sessions() -> list[Session]:
    return [one.session for one in replay_files(find_transcripts([str(CORPUS)]), home=None, said={}) if one.session]


def test_all_of_them_replay_and_no_line_is_lost() -> None:
    found = list(replay_files(find_transcripts([str(CORPUS)]), home=None, said={}))
    assert len(found) == 85
    assert [Path(one.path).name for one in found if one.session is None] == [NO_TRANSCRIPT]
    for one in found:
        data = Path(one.path).read_bytes()
        if one.session is not None:
            assert (one.session.size, one.session.lines) == (len(data), data.count(b"\n") + (not data.endswith(b"\n")))


def test_the_sums_are_those_of_a_plain_reading() -> None:
    """Tokens out of each answer, once, as the standard library reads them."""
    last: dict[str, dict[str, int]] = {}
    for path in sorted(CORPUS.rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
                usage, name = record["message"]["usage"], record["message"]["id"]
            except (ValueError, KeyError, TypeError):
                continue
            odd = (
                record["type"] != "assistant"
                or record.get("isApiErrorMessage")
                or record["message"].get("model") == "<synthetic>"
            )
            if not odd and (name not in last or usage["output_tokens"] > last[name]["output_tokens"]):
                last[name] = usage
    ledger = Ledger()
    for session in sessions():
        ledger.add(session)
    row = ledger.totals.all
    without = len({request.key for session in sessions() for request in session.requests if not request.usage})
    assert row.requests == len(last) + without
    assert row.read == sum(usage.get("cache_read_input_tokens") or 0 for usage in last.values())
    assert row.fresh == sum(usage["input_tokens"] for usage in last.values())


def test_prompts_are_reconstructed_closely(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of errors; the reasons for large ones stand in docs/replay.md."""
    lines, medians = [], []
    for session in sessions():
        if any(part in session.path for part in HAND_WRITTEN):
            continue
        ledger = Ledger()
        ledger.add(session)
        accuracy = ledger.totals.accuracy
        if accuracy.median_error is not None and accuracy.compared >= 5:
            medians.append(accuracy.median_error)
            total = accuracy.estimated / accuracy.reported - 1
            name = str(Path(session.path).relative_to(CORPUS))[-60:]
            lines.append(
                f"{name:60} {accuracy.compared:4} {accuracy.median_error:7.1%} {max(accuracy.errors):7.1%} {total:+7.1%}"
            )
    with capsys.disabled():
        print(f"\n{'transcript':60}    n  median   worst     sum\n" + "\n".join(lines))  # noqa: T201 - the table is the point
    assert len(medians) > 25
    assert sorted(medians)[len(medians) // 2] < 0.02
    assert max(medians) < 0.15


def test_breaks_are_fewer_than_drops_and_each_has_evidence() -> None:
    found = sessions()
    breaks = [(session, one) for session in found for one in session.breaks]
    drops = 0
    for session in found:
        reads = [request.usage.read for request in session.requests if request.usage]
        drops += sum(later < earlier for earlier, later in pairwise(reads))
    assert 0 < len(breaks) < drops
    assert all(len(one.evidence) >= 2 and one.lost >= 1024 for _, one in breaks)


def test_advice_is_ranked() -> None:
    gathering = Gathering()
    for session in sessions():
        gathering.add(session)
    advice = gathering.report().advice
    assert [one.saves for one in advice] == sorted((one.saves for one in advice), reverse=True)
    assert len(advice) >= 3
