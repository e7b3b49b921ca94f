"""Reports of a replay as others read them: the Parquet file in duckdb, the page in a browser that sees no network."""

import shutil
import subprocess
from pathlib import Path

import pytest

from compositor.adapters.replay.parquet import COLUMNS, RequestTable
from compositor.adapters.replay.reading import find_transcripts, replay_files
from compositor.insight.replay.page import render_page
from compositor.insight.replay.report import Gathering, Report
from compositor.insight.replay.rows import Session
from tests.insight.replay.planted import BREAKS

pytestmark = pytest.mark.edges


@pytest.fixture
def sessions(tmp_path: Path) -> list[Session]:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number, (_, play) in enumerate(BREAKS.values()):
        lines = [line.replace(b"msg-", f"m{number}-".encode()) for line in play().lines]
        (folder / f"{number:02}.jsonl").write_bytes(b"".join(lines))
    found = replay_files(find_transcripts([str(folder)]), home=None, said={})
    return [one.session for one in found if one.session is not None]


def gathered(sessions: list[Session]) -> Report:
    gathering = Gathering()
    for session in sessions:
        gathering.add(session)
    return gathering.report()


def test_duckdb_reads_a_row_for_each_request(sessions: list[Session], tmp_path: Path) -> None:
    import duckdb

    target = tmp_path / "it's a report.parquet"
    with RequestTable.open(str(target)) as table:
        for session in sessions:
            table.add(session, frozenset({0}), {})
    report = gathered(sessions)
    with duckdb.connect(":memory:") as database:
        rows = database.read_parquet(str(target))
        assert rows.columns == list(COLUMNS)
        count, read, broken, copies, dollars = rows.aggregate(
            "count(*), sum(read), count(break_cause), sum(copy::int), sum(dollars)"
        ).fetchall()[0]
    assert (count, read, broken) == (report.totals.all.requests, report.totals.all.read, len(BREAKS))
    assert copies == len(sessions)
    assert dollars == pytest.approx(report.totals.all.dollars)


def test_a_replay_that_breaks_off_leaves_no_half_file(sessions: list[Session], tmp_path: Path) -> None:
    target = tmp_path / "report.parquet"

    def broken_off() -> None:
        with RequestTable.open(str(target)) as table:
            table.add(sessions[0], frozenset(), {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert not target.exists()


def test_a_browser_shows_the_page_and_asks_for_nothing_else(sessions: list[Session], tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    page_file = tmp_path / "report.html"
    page_file.write_text(render_page(gathered(sessions)), encoding="utf-8")
    browser_path = next(
        path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))
    )
    assert subprocess.run([browser_path, "--version"], capture_output=True, check=True, timeout=60).stdout
    asked: list[str] = []
    said: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(page_file.as_uri())
        assert asked == [page_file.as_uri()]
        assert said == []
        assert page.locator("h1").inner_text().startswith("What the sessions cost")
        assert page.locator("svg rect.read").count() > 5
        boxes = [box for box in (rect.bounding_box() for rect in page.locator("svg rect.bar").all()) if box]
        assert boxes
        assert all(box["width"] > 0 for box in boxes)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator("h2", has_text="Breaks").locator("xpath=following::table[1]").locator("tr").count() > 20
        browser.close()
