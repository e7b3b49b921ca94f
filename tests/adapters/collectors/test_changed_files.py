"""Files that change under a session's feet, on a real disk (R299 to R306, R388, F22)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from compositor.adapters.collectors.changed_files import ChangedFilesCollector
from compositor.adapters.tools.read import ReadTool
from compositor.context.attachments.render import attachment_text
from compositor.context.freshness.file_table import FileTable
from compositor.ports import ToolScope
from compositor.types.attachments import DiffAttachment
from compositor.types.collected import Moment
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall, ToolOutcome

pytestmark = pytest.mark.anyio

NOW = Moment(prompt="")


class Desk:
    """Reads files as the model does, and collects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = FileTable()
        self.denied: set[str] = set()
        self.read_back: list[str] = []
        self.collector = ChangedFilesCollector(self.table, self._may_read, str(folder))
        self.scope = ToolScope(cwd=str(folder), roots=(str(folder),), output_dir=str(folder), env={})

    def _may_read(self, path: str) -> bool:
        self.read_back.append(path)
        return path not in self.denied

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))
        return path

    async def read(self, name: str, **more: object) -> ToolOutcome:
        call = ToolCall(id="c", name="Read", input=raw_json({"file_path": name, **more}))
        outcome = await ReadTool(self.table).run(call, self.scope)
        assert outcome.kind is OutcomeKind.DONE
        return outcome

    async def told(self) -> list[str]:
        found = await self.collector.collect(NOW)
        if found.taken is not None:
            found.taken()
        return [attachment_text(note) for note in found.attachments]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.req("R300", "R303", "R305")
async def test_a_change_is_told_once_with_its_hunk(desk: Desk) -> None:
    text = "".join(f"line {at}\n" for at in range(400))
    path = desk.write("a.py", text)
    await desk.read("a.py")
    assert await desk.told() == []
    assert desk.read_back == [], "nothing is read while the stamp is the same"
    desk.write("a.py", text.replace("line 7\n", "LINE 7\n"))
    (note,) = await desk.told()
    assert note.endswith(
        f"{path} was changed by somebody else since you saw it (1 lines out, 1 in). What you know of it holds but for this; "
        "there is no need to speak of it:\n@@ -5,7 +5,7 @@\n line 4\n line 5\n line 6\n-line 7\n+LINE 7\n line 8\n line 9\n line 10"
    )
    assert [await desk.told() for _ in range(10)] == [[]] * 10
    view = desk.table.view(str(path))
    assert view is not None
    assert view.is_whole, "the model knows all of it again"


@pytest.mark.req("R289")
async def test_a_read_stores_content_time_and_what_was_shown(desk: Desk) -> None:
    path = desk.write("a.py", "one\ntwo\nthree\n")
    await desk.read("a.py", offset=2, limit=1)
    part = desk.table.view(str(path))
    assert part is not None
    assert (part.seen, part.mtime_ns, part.text) == (((2, 2),), path.stat().st_mtime_ns, "one\ntwo\nthree\n")
    await desk.read("a.py")
    whole = desk.table.view(str(path))
    assert whole is not None
    assert whole.seen == ((1, 3),), "without a range the read begins at line 1"


@pytest.mark.req("R302", "R388")
async def test_another_time_with_the_same_content_is_no_change(desk: Desk) -> None:
    path = desk.write("c.py", "same\n")
    await desk.read("c.py")
    os.utime(path, ns=(1, 1))
    assert await desk.told() == []
    desk.read_back.clear()
    assert await desk.told() == []
    assert desk.read_back == [], "the new time is known"


@pytest.mark.req("R291", "R299")
async def test_a_file_seen_in_part_produces_nothing(desk: Desk) -> None:
    desk.write("part.py", "".join(f"{at}\n" for at in range(100)))
    await desk.read("part.py", offset=1, limit=10)
    desk.write("part.py", "other\n")
    assert await desk.told() == []


@pytest.mark.req("R301")
async def test_a_file_that_is_denied_now_yields_no_content(desk: Desk) -> None:
    path = desk.write("secret.txt", "one\n")
    await desk.read("secret.txt")
    desk.denied.add(str(path))
    desk.write("secret.txt", "KEY=abc\n")
    assert await desk.told() == []
    assert desk.table.view(str(path)) is None


@pytest.mark.req("R305")
async def test_what_was_not_taken_is_found_again(desk: Desk) -> None:
    desk.write("a.py", "one\n")
    await desk.read("a.py")
    desk.write("a.py", "two\n")
    assert len((await desk.collector.collect(NOW)).attachments) == 1
    assert len(await desk.told()) == 1
    assert await desk.told() == []


async def test_gone_and_moved_files_are_told_once(desk: Desk) -> None:
    gone = desk.write("gone.py", "x\n")
    moved = desk.write("old.py", "y\n")
    for name in ("gone.py", "old.py"):
        await desk.read(name)
    gone.unlink()
    moved.rename(desk.folder / "new.py")
    told = await desk.told()
    assert told == [
        f"{gone} is not there any more. What stands above is what it was.",
        f"{moved} was moved to {desk.folder / 'new.py'}.",
    ]
    assert await desk.told() == []


@pytest.mark.req("R306")
async def test_a_changed_picture_is_told(desk: Desk) -> None:
    path = desk.folder / "logo.png"
    Image.new("RGB", (4, 4), "red").save(path)
    await desk.read("logo.png")
    Image.new("RGB", (5, 4), "red").save(path)
    assert await desk.told() == [
        f"The picture {path} was changed since you saw it. Read it again before you rely on it."
    ]
    assert await desk.told() == []


async def test_a_change_whose_difference_was_left_out_needs_a_new_read(desk: Desk) -> None:
    text = "".join(f"{at} {'x' * 60}\n" for at in range(400))
    path = desk.write("long.py", text)
    await desk.read("long.py")
    desk.write("long.py", text.replace("x", "y"))
    (note,) = await desk.told()
    assert "16,384 characters" in note
    view = desk.table.view(str(path))
    assert view is not None
    assert "only a part of it has been read" in str(desk.table.refusal(str(path), view.digest))
    assert await desk.told() == []
    desk.write("long.py", "short\n")
    assert len(await desk.told()) == 1, "a new change is told again"


async def test_a_switch_of_branch_is_one_note(desk: Desk) -> None:
    def git(*words: str) -> None:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(desk.folder)}
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=desk.folder, check=True, capture_output=True, env=env)

    git("init", "-q", "-b", "main")
    for at in range(130):
        desk.write(f"src/f{at}.py", f"{at}\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    for at in range(130):
        desk.write(f"src/f{at}.py", f"{at} other\n")
    git("commit", "-qam", "two")
    desk.collector = ChangedFilesCollector(desk.table, lambda _path: True, str(desk.folder))
    for at in range(130):
        await desk.read(f"src/f{at}.py")
    git("checkout", "-q", "main")
    (note,) = await desk.told()
    assert note.startswith("130 files that you saw were changed at once, as another commit was checked out.")
    assert await desk.told() == []


@pytest.mark.req("R290")
async def test_a_repeated_read_is_answered_in_a_line_once(desk: Desk) -> None:
    desk.write("a.py", "alpha\n")
    first = await desk.read("a.py")
    stub = await desk.read("a.py")
    again = await desk.read("a.py")
    assert "alpha" in str(first.content)
    assert "alpha" not in str(stub.content)
    assert "unchanged since you read it" in str(stub.content)
    assert again.content == first.content
    desk.write("a.py", "beta\n")
    assert "beta" in str((await desk.read("a.py")).content)


@pytest.mark.req("R290")
async def test_after_results_were_cleared_a_file_is_shown_again(desk: Desk) -> None:
    desk.write("a.py", "alpha\n")
    await desk.read("a.py")
    await desk.collector.collect(Moment(prompt="", cleared=1))
    assert "alpha" in str((await desk.read("a.py")).content)
    assert "unchanged" in str((await desk.read("a.py")).content)


async def test_a_changed_note_has_the_shape_of_a_difference(desk: Desk) -> None:
    desk.write("a.py", "one\n")
    await desk.read("a.py")
    desk.write("a.py", "two\nthree\n")
    (note,) = (await desk.collector.collect(NOW)).attachments
    assert isinstance(note, DiffAttachment)
    assert (note.removed, note.added) == (1, 2)
