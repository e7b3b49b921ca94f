"""What an editor shows: taken in, told once, held back where a rule denies reading (R189, R397, F23)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from compositor.adapters.collectors.date import DateCollector
from compositor.adapters.collectors.editor import EditorCollector
from compositor.adapters.collectors.usage import Meter, UsageCollector
from compositor.adapters.editor_drop import EditorDrop
from compositor.context.attachments.render import attachment_text
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment, Occasion

pytestmark = pytest.mark.anyio

DROP = {
    "open": "src/app.py",
    "selection": {"path": "src/app.py", "first": 10, "last": 12, "text": "def main():\n    pass\n"},
    "diagnostics": [{"path": "src/app.py", "line": 11, "message": "name is\nnot defined", "source": "pyright"}],
}


class Desk:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "drop.json"
        self.denied: set[str] = set()
        self.told: list[TextAttachment] = []
        self.collector = EditorCollector(EditorDrop(self.file, "/p"), lambda path: path not in self.denied)

    def drop(self, **changes: object) -> None:
        self.file.write_text(json.dumps({**DROP, **changes}))

    async def collect(self, occasion: Occasion = Occasion.SUBMISSION) -> Collected:
        found = await self.collector.collect(Moment(prompt="", occasion=occasion, told=tuple(self.told)))
        self.told += [note for note in found.attachments if isinstance(note, TextAttachment)]
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.req("R189")
async def test_selection_open_file_and_diagnostics_with_a_prompt(desk: Desk) -> None:
    assert (await desk.collect()) == Collected()
    desk.drop()
    found = await desk.collect()
    assert [note.kind for note in found.attachments] == ["selected_lines_in_ide", "opened_file", "diagnostics"]
    texts = [attachment_text(note) for note in found.attachments]
    assert "lines 10-12 of /p/src/app.py selected in the editor" in texts[0]
    assert "/p/src/app.py:11: error: name is not defined [pyright]" in texts[2]


@pytest.mark.req("R189", "R192")
async def test_after_a_batch_only_diagnostics_that_changed_are_told(desk: Desk) -> None:
    desk.drop()
    await desk.collect()
    assert (await desk.collect(Occasion.BATCH)).attachments == ()
    desk.drop(diagnostics=[])
    (note,) = (await desk.collect(Occasion.BATCH)).attachments
    assert attachment_text(note) == "The editor reports no problems any more."
    assert (await desk.collect(Occasion.BATCH)).attachments == ()


@pytest.mark.req("R397")
async def test_what_may_not_be_read_is_held_back_and_the_user_is_told(desk: Desk) -> None:
    secret = {"path": ".env", "first": 1, "last": 1, "text": "KEY=abc"}
    desk.drop(open=".env", selection=secret, diagnostics=[{"path": ".env", "line": 1, "message": "KEY=abc"}])
    desk.denied.add("/p/.env")
    found = await desk.collect()
    assert found.attachments == ()
    assert [(note.code, note.where) for note in found.diagnostics] == [("editor.held_back", "/p/.env")]
    assert "abc" not in found.diagnostics[0].message


async def test_what_is_old_is_stale_and_a_broken_file_is_an_error(desk: Desk) -> None:
    desk.drop()
    os.utime(desk.file, (1, 1))
    found = await desk.collect()
    assert found.attachments == ()
    assert "minutes ago" in found.stale
    desk.file.write_text('{"open": 3}')
    with pytest.raises(ValueError, match="is no editor file"):
        await desk.collect()


@pytest.mark.req("R192")
async def test_another_day_is_told_once() -> None:
    day = "2026-03-01"
    collector = DateCollector(lambda: day, "2026-03-01")
    assert (await collector.collect(Moment(prompt=""))).attachments == ()
    day = "2026-03-02"
    (note,) = (await collector.collect(Moment(prompt=""))).attachments
    assert isinstance(note, TextAttachment)
    assert "today is 2026-03-02" in note.text
    told = Moment(prompt="", told=(note,))
    assert (await collector.collect(told)).attachments == ()
    day = "2026-03-03"
    assert len((await collector.collect(told)).attachments) == 1


@pytest.mark.req("R188", "R194")
async def test_usage_is_told_at_its_steps_only() -> None:
    used, told = 0, []
    collector = UsageCollector(lambda: Meter(used, 1000), lambda: Meter(1, 0))
    for now in range(0, 1000, 10):
        used = now
        found = await collector.collect(Moment(prompt="", told=tuple(told)))
        told += [note for note in found.attachments if isinstance(note, TextAttachment)]
    assert [(note.kind, note.name) for note in told] == [
        ("token_usage", "50"),
        ("token_usage", "75"),
        ("token_usage", "90"),
    ]
