"""The collector on real files: what enters while a session runs, and what the table of files learns from it."""

import hashlib
from pathlib import Path

import anyio
import pytest
from msgspec import Raw

from compositor.adapters.collectors.memory import MemoryCollector, file_views
from compositor.adapters.memory_files import load_memory, memory_place
from compositor.adapters.tools.read import ReadTool
from compositor.context.freshness.file_table import FileTable
from compositor.context.memory.facts import MemoryFolder
from compositor.ports import ToolScope
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment
from compositor.types.memory import MemoryLevel
from compositor.types.tools import ToolCall, ToolOutcome


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class Desk:
    """A project with a collector and its history."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folder = MemoryFolder(path=str(root / "notes"), level=MemoryLevel.AUTOMATIC, is_kept=True)
        self.place = memory_place(cwd=str(root / "repo"), home=None, config_home=None, folders=(folder,))
        self.files = FileTable()
        start = load_memory(self.place)
        self.files.seed(file_views(start))
        self.collector = MemoryCollector(self.place, start, self.files.seed)
        self.told: list[TextAttachment] = []

    def collect(self, *reached: str, prompt: str = "") -> list[tuple[str, str]]:
        moment = Moment(
            prompt=prompt, reached=tuple(str(self.root / "repo" / name) for name in reached), told=tuple(self.told)
        )

        async def work() -> Collected:
            return await self.collector.collect(moment)

        found = anyio.run(work)
        self.told += [note for note in found.attachments if isinstance(note, TextAttachment)]
        return [
            (note.kind, (note.path or "").removeprefix(f"{self.root}/"))
            for note in found.attachments
            if isinstance(note, TextAttachment)
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    write(tmp_path / "repo/CLAUDE.md", "<!-- for people -->\n# Top\n\nBe brief.\n")
    write(tmp_path / "repo/CLAUDE.local.md", "mine\n")
    write(tmp_path / "repo/sub/CLAUDE.md", "Below.\n")
    write(tmp_path / "repo/.claude/rules/ts.md", "---\npaths: '**/*.ts'\n---\nTypes first.\n")
    write(tmp_path / "notes/deploy.md", "Deploy with make ship.\n")
    return Desk(tmp_path)


@pytest.mark.req("R122", "R130")
def test_nothing_is_due_at_first_then_each_file_once(desk: Desk) -> None:
    assert desk.collect() == []
    assert desk.collect("sub/a.ts") == [
        ("nested_memory", "repo/.claude/rules/ts.md"),
        ("nested_memory", "repo/sub/CLAUDE.md"),
    ]
    assert desk.collect("sub/a.ts", "sub/b.ts") == []
    desk.told.clear()
    assert len(desk.collect("sub/a.ts")) == 2


@pytest.mark.req("R124", "R109")
def test_a_file_of_the_start_that_changes_appears_or_goes_is_told_once(desk: Desk) -> None:
    repo = desk.root / "repo"
    write(repo / "CLAUDE.md", "# Top\n\nBe thorough.\n")
    assert desk.collect() == [("memory_update", "repo/CLAUDE.md")]
    assert "Be thorough." in desk.told[-1].text
    assert desk.collect() == []
    write(repo / ".claude/rules/new.md", "A new rule.\n")
    assert desk.collect() == [("memory_update", "repo/.claude/rules/new.md")]
    (repo / "CLAUDE.local.md").unlink()
    assert desk.collect() == [("memory_update", "repo/CLAUDE.local.md")]
    write(repo / "CLAUDE.md", "<!-- for people -->\n# Top\n\nBe brief.\n")
    assert desk.collect() == [("memory_update", "repo/CLAUDE.md")]
    write(repo / "CLAUDE.md", "<!-- for other people -->\n# Top\n\nBe brief.\n")
    assert desk.collect() == []


@pytest.mark.req("R124")
def test_what_the_model_wrote_itself_is_not_told_back(desk: Desk) -> None:
    write(desk.root / "repo/CLAUDE.md", "# Top\n\nWritten by the model.\n")
    assert desk.collect("CLAUDE.md") == []
    assert desk.collect() == []


@pytest.mark.req("R123", "R294", "R419")
def test_a_note_that_bears_on_the_prompt_enters_once(desk: Desk) -> None:
    assert desk.collect(prompt="please deploy this") == [("relevant_memories", "notes/deploy.md")]
    assert desk.collect(prompt="please deploy this") == []
    view = desk.files.view(str(desk.root / "notes/deploy.md"))
    assert view is not None
    write(desk.root / "notes/long.md", "quokka\n" * 20_000)
    assert desk.collect(prompt="quokka") == [("relevant_memories", "notes/long.md")]
    long = desk.files.view(str(desk.root / "notes/long.md"))
    assert long is not None
    assert long.seen == ((1, desk.told[-1].text.count("quokka")),)
    assert not long.is_whole
    assert (view.is_whole, view.mtime_ns) == (True, (desk.root / "notes/deploy.md").stat().st_mtime_ns)


@pytest.mark.req("R120", "R293")
def test_files_of_the_start_are_known_to_the_tools_line_by_line(desk: Desk) -> None:
    path = desk.root / "repo/CLAUDE.md"
    view = desk.files.view(str(path))
    assert view is not None
    assert (view.from_context, view.lines, view.mtime_ns) == (True, 4, path.stat().st_mtime_ns)
    # The comment of line 1 was never shown, so the file was not read whole.
    assert view.seen == ((2, 4),)
    local = desk.files.view(str(desk.root / "repo/CLAUDE.local.md"))
    assert local is not None
    assert local.is_whole


@pytest.mark.req("R121", "R120")
def test_a_seeded_file_may_be_changed_while_it_is_what_was_shown(desk: Desk) -> None:
    path = desk.root / "repo/CLAUDE.local.md"
    view = desk.files.view(str(path))
    assert view is not None
    assert desk.files.refusal(str(path), view.digest) is None
    assert "changed" in (desk.files.refusal(str(path), "0" * 64) or "")
    assert "not been read" in (desk.files.refusal(str(desk.root / "repo/sub/CLAUDE.md"), "0" * 64) or "")
    desk.collect("sub/a.py")
    nested = desk.files.view(str(desk.root / "repo/sub/CLAUDE.md"))
    assert nested is not None
    assert nested.is_whole


@pytest.mark.req("R121")
def test_reading_a_seeded_file_gives_what_it_says_now(desk: Desk) -> None:
    path = desk.root / "repo/CLAUDE.local.md"
    scope = ToolScope(cwd=str(desk.root / "repo"), roots=(), output_dir=str(desk.root), env={})
    call = ToolCall(id="1", name="Read", input=Raw(b'{"file_path": "CLAUDE.local.md"}'))

    def read() -> str:
        async def work() -> ToolOutcome:
            return await ReadTool(desk.files).run(call, scope)

        return str(anyio.run(work).content)

    assert "mine" in read()
    write(path, "changed\n")
    assert "changed" in read()
    view = desk.files.view(str(path))
    assert view is not None
    assert view.digest == hashlib.sha256(b"changed\n").hexdigest()


def test_the_text_of_a_setting_is_no_file_that_was_read(tmp_path: Path) -> None:
    place = memory_place(cwd=str(tmp_path), home=None, config_home=None, managed_texts=(("/m.json#claudeMd", "text"),))
    chain = load_memory(place)
    assert [loaded.file.text for loaded in chain.files if loaded.path.startswith("/m.json")] == ["text"]
    assert [view for view in file_views(chain) if view.path.startswith("/m.json")] == []


@pytest.mark.req("R137")
def test_a_folder_is_one_folder_under_all_of_its_names(desk: Desk) -> None:
    (desk.root / "repo/alias").symlink_to("sub")
    assert desk.collect("alias/a.py") == [("nested_memory", "repo/sub/CLAUDE.md")]
    assert desk.collect("sub/a.py") == []
    assert desk.collect("alias/b.py") == []
