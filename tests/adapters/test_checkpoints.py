"""The file history of a session: what is kept, that it is private, and that going back loses nothing."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.adapters import checkpoints
from compositor.adapters.checkpoints import Change, FileHistory


class Clock:
    def __init__(self) -> None:
        self.ticks = 0

    def now(self) -> str:
        self.ticks += 1
        return f"2026-01-31T12:00:00.{self.ticks:03}Z"

    def today(self) -> str:
        return "2026-01-31"

    def monotonic(self) -> float:
        return 0.0


class Story:
    """Prompts that change files, and the way back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.prompt: str | None = None
        self.home = folder / "state"
        self.project = folder / "project"
        self.project.mkdir()
        self.history = FileHistory(self.home, "s1", Clock())
        self.history.tell = lambda note: self.told.append(note.message)
        self.history.follow(lambda: self.prompt)

    def write(self, prompt: str, name: str, text: str | None) -> None:
        self.prompt = prompt
        path = self.project / name
        self.history.keep([str(path)])
        path.write_text(text) if text is not None else path.unlink(missing_ok=True)

    def back(self, *prompts: str) -> dict[str, str]:
        return {Path(one.path).name: one.what for one in self.history.restore(prompts)}

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.project.iterdir())}


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_files_come_back_as_they_were_before_the_prompt(story: Story) -> None:
    (story.project / "a").write_text("one")
    story.write("p1", "a", "two")
    story.write("p1", "a", "three")
    story.write("p2", "b", "new")
    story.write("p2", "a", None)
    assert story.back("p2") == {"a": "create", "b": "remove"}
    assert story.files() == {"a": "three"}
    assert story.back("p1", "p2") == {"a": "restore", "b": "skip"}
    assert story.files() == {"a": "one"}


def test_a_prompt_that_changed_nothing_goes_back_over_those_behind_it(story: Story) -> None:
    (story.project / "a").write_text("one")
    story.write("p1", "a", "two")
    story.write("p3", "a", "three")
    assert story.back("p2", "p3") == {"a": "restore"}
    assert story.files() == {"a": "two"}


def test_what_a_file_held_before_it_was_brought_back_is_kept(story: Story) -> None:
    (story.project / "a").write_text("one")
    story.write("p1", "a", "two")
    (story.project / "a").write_text("typed by hand")
    assert story.history.changes(["p1"]) == (Change(path=str(story.project / "a"), what="restore"),)
    story.back("p1")
    assert story.files() == {"a": "one"}
    last = story.history.points[-1]
    assert last.about == "before files were brought back"
    assert story.back(last.id) == {"a": "restore"}
    assert story.files() == {"a": "typed by hand"}


def test_everything_kept_is_private_and_stored_once(story: Story) -> None:
    (story.project / "a").write_text("same")
    (story.project / "b").write_text("same")
    story.prompt = "p1"
    old = os.umask(0)
    try:
        story.history.keep([str(story.project / "a"), str(story.project / "b")])
    finally:
        os.umask(old)
    folder = story.home / "file-history" / "s1"
    assert len(list(folder.iterdir())) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_links_are_left_out_and_named(story: Story) -> None:
    (story.project / "real").write_text("x")
    (story.project / "hard").hardlink_to(story.project / "real")
    story.write("p1", "hard", "changed")
    assert story.told == [f"{story.project}/hard is not kept before it changes: it has several names (hard links)"]
    assert story.back("p1") == {}


def test_what_became_a_link_since_is_not_written_through(story: Story, tmp_path: Path) -> None:
    (story.project / "a").write_text("one")
    story.write("p1", "a", "two")
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (story.project / "a").unlink()
    (story.project / "a").symlink_to(outside)
    (found,) = story.history.restore(["p1"])
    assert (found.what, found.reason) == ("skip", "it is a symbolic link")
    assert outside.read_text() == "not ours"


def test_mode_bits_come_back_with_a_file_that_is_gone(story: Story) -> None:
    (story.project / "run.sh").write_text("x")
    (story.project / "run.sh").chmod(0o750)
    story.write("p1", "run.sh", None)
    assert story.back("p1") == {"run.sh": "create"}
    assert stat.S_IMODE((story.project / "run.sh").stat().st_mode) == 0o750


def test_a_damaged_line_and_a_missing_content_cost_only_themselves(story: Story) -> None:
    (story.project / "a").write_text("one")
    (story.project / "b").write_text("two")
    story.write("p1", "a", "x")
    story.write("p1", "b", "y")
    folder = story.home / "file-history" / "s1"
    with (folder / "index.jsonl").open("ab") as index:
        index.write(b'{"type":"poi\n')
    story.write("p2", "c", "z")
    next(path for path in folder.iterdir() if path.read_bytes() == b"one").write_bytes(b"damaged")
    assert story.back("p1", "p2") == {"a": "skip", "b": "restore", "c": "remove"}
    assert story.files() == {"a": "x", "b": "two"}


def test_what_cannot_be_kept_stops_nothing(story: Story) -> None:
    (story.project / "a").write_text("one")
    (story.home).mkdir()
    (story.home / "file-history").write_text("in the way")
    story.write("p1", "a", "two")
    assert story.files() == {"a": "two"}
    assert len(story.told) == 1


def test_a_hundred_points_are_kept_and_contents_go_with_theirs(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LONGEST", 3)
    for number in range(6):
        story.write(f"p{number}", "a", f"text {number}")
    assert [point.id for point in story.history.points] == ["p3", "p4", "p5"]
    folder = story.home / "file-history" / "s1"
    assert sorted(path.read_text() for path in folder.iterdir() if path.name != "index.jsonl") == [
        "text 2",
        "text 3",
        "text 4",
    ]


def test_without_a_prompt_nothing_is_kept(story: Story) -> None:
    story.history.keep([str(story.project / "a")])
    assert not story.home.exists()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.none() | st.sampled_from(["x", "y"])), max_size=12
    ),
    st.integers(0, 3),
)
def test_law_going_back_gives_the_files_at_the_prompt(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, str | None]], to: int
) -> None:
    story = Story(tmp_path_factory.mktemp("law"))
    states: dict[int, dict[str, str]] = {}
    for prompt, name, text in sorted(steps, key=lambda step: step[0]):
        for number in range(prompt + 1):
            states.setdefault(number, story.files())
        story.write(f"p{prompt}", name, text)
    for number in range(4):
        states.setdefault(number, story.files())
    story.back(*(f"p{number}" for number in range(to, 4)))
    assert story.files() == states[to]
