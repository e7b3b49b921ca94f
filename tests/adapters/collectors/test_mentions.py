"""Mentions looked up on a real disk: what is attached, what is held back, what is missing (R184, F23, F24)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from compositor.adapters.collectors.mentions import ALL_CHARACTERS, MentionCollector, Ways
from compositor.adapters.pictures import clipboard_image
from compositor.adapters.tools.results import Problem
from compositor.context.attachments.render import attachment_text, render_attachment
from compositor.context.freshness.file_table import FileTable
from compositor.ports import ToolScope
from compositor.types.attachments import FileAttachment, ListingAttachment, MediaAttachment
from compositor.types.blocks import DocumentBlock, ImageBlock, ResultContent, TextBlock
from compositor.types.collected import Collected, Moment, Occasion
from compositor.types.servers import ServerResource

pytestmark = pytest.mark.anyio


class OneServer:
    async def resources(self, server: str | None = None) -> tuple[ServerResource, ...]:
        return ()

    async def read(self, server: str, uri: str, folder: str) -> str | tuple[ResultContent, ...]:
        return f"{server} says {uri}"


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = FileTable()
        self.denied: set[str] = set()
        scope = ToolScope(cwd=str(folder), roots=(str(folder),), output_dir=str(folder), env={})
        self.collector = MentionCollector(
            Ways(
                table=self.table,
                scope=lambda: scope,
                may_read=lambda path: path not in self.denied,
                agents=lambda: ("reviewer",),
                servers=OneServer(),
                server_names=lambda: ("docs",),
            )
        )

    async def collect(self, prompt: str, occasion: Occasion = Occasion.SUBMISSION) -> Collected:
        found = await self.collector.collect(Moment(prompt=prompt, occasion=occasion))
        if found.taken is not None:
            found.taken()
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/My File.md").write_text("mine\n")
    (tmp_path / "docs/plain.md").write_text("plain\n")
    (tmp_path / "big.log").write_text("".join(f"entry {at}\n" for at in range(1, 101)))
    Image.new("RGB", (4, 4), "red").save(tmp_path / "logo.png")
    (tmp_path / "data.bin").write_bytes(b"\0\1\2" * 100)
    (tmp_path / ".env").write_text("KEY=abc\n")
    return Desk(tmp_path)


@pytest.mark.req("R184")
async def test_the_prompt_of_the_report_attaches_both_files(desk: Desk) -> None:
    found = await desk.collect('see @"docs/My File.md", and @docs/plain.md.')
    assert [(note.path, note.text) for note in found.attachments if isinstance(note, FileAttachment)] == [
        (str(desk.folder / "docs/My File.md"), "mine"),
        (str(desk.folder / "docs/plain.md"), "plain"),
    ]
    assert found.diagnostics == ()
    view = desk.table.view(str(desk.folder / "docs/plain.md"))
    assert view is not None
    assert view.is_whole, "what was mentioned counts as read"


@pytest.mark.req("R184")
async def test_a_range_gives_these_lines_only(desk: Desk) -> None:
    (note,) = (await desk.collect("@big.log#L10-20")).attachments
    assert isinstance(note, FileAttachment)
    assert (note.first, note.total, len(note.text.split("\n"))) == (10, 100, 11)
    text = attachment_text(note)
    assert f"The prompt names @big.log#L10-20. This is {desk.folder / 'big.log'}, lines 10-20 of 100:" in text
    assert "    10\tentry 10\n" in text
    assert "entry 21" not in text


@pytest.mark.req("R184")
async def test_a_folder_and_a_pattern_give_bounded_lists(desk: Desk) -> None:
    folder, pattern = (await desk.collect("@docs/ and @docs/*.md")).attachments
    assert isinstance(folder, ListingAttachment)
    assert isinstance(pattern, ListingAttachment)
    assert folder.names == ("My File.md", "plain.md")
    assert pattern.names == ("docs/My File.md", "docs/plain.md")
    for at in range(3_000):
        (desk.folder / f"docs/a{at:04}.txt").touch()
    (long,) = (await desk.collect("@docs")).attachments
    assert len(attachment_text(long)) < 9_000
    assert "more]" in attachment_text(long)


@pytest.mark.req("R184")
async def test_a_picture_is_an_image_block_and_another_binary_a_short_note(desk: Desk) -> None:
    picture, binary = (await desk.collect("@logo.png @data.bin")).attachments
    assert isinstance(picture, MediaAttachment)
    assert any(isinstance(block, ImageBlock) for block in render_attachment(picture) or ())
    assert binary.kind == "mention_problem"
    assert "binary file" in attachment_text(binary)


@pytest.mark.req("R397")
async def test_a_denied_file_is_held_back_and_both_are_told(desk: Desk) -> None:
    desk.denied.add(str(desk.folder / ".env"))
    found = await desk.collect("what is in @.env ?")
    assert [note.code for note in found.diagnostics] == ["mention.held_back"]
    assert "abc" not in "".join(map(attachment_text, found.attachments))
    assert "a rule denies reading it" in attachment_text(found.attachments[0])


@pytest.mark.req("R397")
async def test_a_link_to_a_denied_file_is_held_back(desk: Desk) -> None:
    desk.denied.add(str(desk.folder / ".env"))
    (desk.folder / "link").symlink_to(desk.folder / ".env")
    found = await desk.collect("@link")
    assert "abc" not in "".join(map(attachment_text, found.attachments))


async def test_a_quoted_name_that_is_missing_is_told_a_bare_word_stays_text(desk: Desk) -> None:
    found = await desk.collect('@"no such.md" @nobody @no/such.md')
    assert [attachment_text(note) for note in found.attachments] == [
        'The prompt names @"no such.md", which is not here: nothing of that name is there.'
    ]
    assert [note.message.split(" names")[0] for note in found.diagnostics] == ['@"no such.md"', "@no/such.md"]


@pytest.mark.req("R184")
async def test_a_resource_and_an_agent(desk: Desk) -> None:
    resource, agent = (await desk.collect("@docs:file:///a and @agent-reviewer")).attachments
    assert (resource.kind, agent.kind) == ("mcp_resource", "agent_mention")
    assert "docs says file:///a" in attachment_text(resource)
    assert "'reviewer'" in attachment_text(agent)


async def test_all_mentions_of_a_prompt_share_a_limit(desk: Desk) -> None:
    for at in range(6):
        (desk.folder / f"long{at}.txt").write_text(f"{'x' * 90}\n" * 900)
    found = await desk.collect(" ".join(f"@long{at}.txt" for at in range(6)))
    assert sum(len(attachment_text(note)) for note in found.attachments) < ALL_CHARACTERS + 20_000
    assert [note.kind for note in found.attachments][-1] == "mention_problem"


async def test_nothing_is_looked_up_after_a_batch(desk: Desk) -> None:
    assert (await desk.collect("@big.log", Occasion.BATCH)).attachments == ()


@pytest.mark.req("R196")
def test_a_picture_of_the_clipboard_enters_as_an_attachment(desk: Desk) -> None:
    note = clipboard_image((desk.folder / "logo.png").read_bytes())
    assert isinstance(note, MediaAttachment)
    blocks = render_attachment(note) or ()
    assert blocks[0] == TextBlock("The user put this picture into the prompt:")
    assert any(isinstance(block, ImageBlock | DocumentBlock) for block in blocks)
    assert isinstance(clipboard_image(b"no picture"), Problem)
