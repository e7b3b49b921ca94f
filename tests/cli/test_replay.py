"""`compositor replay` as a person uses it: tables, JSON, the page, wrong inputs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.insight.replay.planted import BREAKS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "transcripts"
    top.mkdir()
    for number, kind in enumerate(["a pause of six minutes", "another model", "automatic compaction"]):
        lines = [line.replace(b"msg-", f"m{number}-".encode()) for line in BREAKS[kind][1]().lines]
        (top / f"{number}.jsonl").write_bytes(b"".join(lines))
    return top


@pytest.mark.req("R408")
def test_the_tables_keep_confirmed_and_estimated_apart(call: Any, folder: Path) -> None:
    ended = call("replay", str(folder))
    assert (ended.code, ended.err) == (0, "")
    assert "3 files" in ended.out
    assert re.search(r"^confirmed: \$\d", ended.out, re.MULTILINE)
    assert re.search(r"^estimated: \d+ prompts", ended.out, re.MULTILINE)
    assert "what if (estimated)" in ended.out
    assert {"expiry", "model_switch", "compaction"} <= set(ended.out.split())


def test_json_holds_everything(call: Any, folder: Path) -> None:
    found = json.loads(call("replay", str(folder), "--json").out)
    totals = found["totals"]
    assert totals["all"]["requests"] == 5 + 5 + 9
    assert totals["all"]["breaks"] == 3 == len(found["breaks"])
    assert sum(row["dollars"] for row in totals["days"].values()) == pytest.approx(totals["all"]["dollars"])
    assert found["outcomes"][0]["plan"] == "as recorded"


def test_every_table_can_be_asked_for(call: Any, folder: Path) -> None:
    names = ("project", "model", "day", "session", "cause", "source")
    out = call("replay", str(folder), "--limit", "1", *(part for name in names for part in ("--by", name))).out
    assert "2026-01-31" in out
    assert "result of" in out or "user text" in out
    assert "--limit" in out


def test_copies_are_counted_once(call: Any, folder: Path) -> None:
    (folder / "copy.jsonl").write_bytes((folder / "0.jsonl").read_bytes())
    totals = json.loads(call("replay", str(folder), "--json").out)["totals"]
    assert (totals["copies"], totals["all"]["requests"]) == (5, 19)


def test_the_page_needs_nothing_from_outside(call: Any, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    lines = (folder / "0.jsonl").read_bytes().replace(b'"/p"', b'"/<script>alert(1)</script>"')
    (folder / "0.jsonl").write_bytes(lines)
    assert call("replay", str(folder), "--html", str(page)).code == 0
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert re.findall(r"(?:src|href|url)\s*[=(]", text) == []
    assert "default-src 'none'" in text
    assert text.count("<svg") > 4


def test_other_models_and_thresholds_can_be_asked_for(call: Any, folder: Path) -> None:
    out = call(
        "replay",
        str(folder),
        "--model",
        "claude-haiku-4-5",
        "--compact-at",
        "20000",
        "--defer",
        "1000",
        "--price",
        "2.5/12",
    ).out
    assert "all on claude-haiku-4-5" in out
    assert "compact at 20,000 tokens" in out
    assert "defer 1,000 tokens" in out
    assert "all at $2.5 and $12 a million" in out


def test_wrong_inputs_are_one_sentence(call: Any, folder: Path, tmp_path: Path) -> None:
    gone = call("replay", str(tmp_path / "gone"))
    assert (gone.code, gone.out) == (2, "") or gone.code == 1
    assert "there is nothing at" in gone.err
    model = call("replay", str(folder), "--model", "gpt-x")
    assert "no price is known for 'gpt-x'" in model.err
    assert "is not two prices like 2.5/12" in call("replay", str(folder), "--price", "cheap").err
    (tmp_path / "empty").mkdir()
    assert call("replay", str(tmp_path / "empty")).code == 1


def test_a_session_of_our_own_is_replayed(call: Any, project: Path, home: Path) -> None:
    script = home / "script.yaml"
    script.write_text("turns: [{say: one}]\n")
    assert call("run", "hi", "--offline", str(script), "--project", str(project)).code == 0
    found = json.loads(call("replay", str(home / "state" / "sessions"), "--json").out)
    assert found["totals"]["all"]["requests"] == 1
    assert found["sessions"][0]["format"] == "own"
