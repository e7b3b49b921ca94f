"""Large content beside the records that refer to it."""

from __future__ import annotations

import hashlib
import random
import re
import stat
from pathlib import Path

import pytest

from compositor.adapters.content_store import ContentStore
from compositor.adapters.prompt_history import NAME, PromptHistory
from compositor.context.transcript.references import Draft, Inline, Reference, expand, mark
from compositor.errors import TranscriptError, UsageError


def files(home: Path) -> list[Path]:
    return sorted((home / "content").iterdir()) if (home / "content").exists() else []


@pytest.mark.req("R348")
@pytest.mark.parametrize(
    ("text", "inline"), [("x" * 1024, True), ("x" * 1025, False), ("é" * 512, True), ("é" * 513, False)]
)
def test_up_to_1024_bytes_stay_in_the_record(tmp_path: Path, text: str, inline: bool) -> None:
    pasted = ContentStore(tmp_path).put(text)
    assert isinstance(pasted, Inline) is inline
    assert len(files(tmp_path)) == (0 if inline else 1)


@pytest.mark.req("R349")
def test_the_reference_is_half_of_a_sha256(tmp_path: Path) -> None:
    text = "a" * 2000
    pasted = ContentStore(tmp_path).put(text)
    assert pasted == Reference(hashlib.sha256(text.encode()).hexdigest()[:16], 2000, 1)
    (file,) = files(tmp_path)
    assert file.name == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.req("R349")
def test_another_content_under_the_same_hash_is_refused(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    store.put("a" * 2000)
    files(tmp_path)[0].write_text("b" * 2000)
    with pytest.raises(TranscriptError, match="another content"):
        store.put("a" * 2000)


@pytest.mark.req("R350")
def test_the_content_is_there_before_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record cannot be written: the content is stored all the same, and nothing refers to what is not there."""
    (tmp_path / NAME).mkdir()
    with pytest.raises(OSError, match=r"[Dd]irectory"):
        PromptHistory(tmp_path).add(mark(1), {1: "x" * 5000}, time="t", project="/p")
    assert len(files(tmp_path)) == 1


@pytest.mark.req("R351")
def test_many_references_expand_like_a_replacement_by_pattern() -> None:
    chance = random.Random(7)
    contents = {number: f"[Pasted #{chance.randint(1, 60)}] é" * chance.randint(0, 3) for number in range(1, 50)}
    words = [mark(chance.randint(1, 60)) if chance.random() < 0.5 else "wörd " for _ in range(300)]
    text = "".join(words)
    draft = Draft(text=text, pastes={number: Inline(content) for number, content in contents.items()})
    expected = re.sub(r"\[Pasted #(\d+)\]", lambda found: contents.get(int(found[1]), found[0]), text)
    assert expand(draft, lambda _: None) == expected


@pytest.mark.req("R352")
def test_listing_opens_no_stored_content(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path)
    history.add(f"look at {mark(1)}", {1: "x" * 5000}, time="t", project="/p")
    (file,) = files(tmp_path)
    file.chmod(0)
    file.unlink()
    (prompt,) = history.newest(10)
    assert prompt.draft.text == "look at [Pasted #1]"


@pytest.mark.req("R354")
def test_a_missing_content_leaves_a_visible_placeholder(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path)
    prompt = history.add(f"look at {mark(1)}!", {1: "x\n" * 2000}, time="t", project="/p")
    assert history.text(prompt) == "look at " + "x\n" * 2000 + "!"
    files(tmp_path)[0].unlink()
    shown = history.text(prompt)
    assert shown.startswith("look at [Pasted #1: 2001 lines, 4000 bytes, not stored any more")
    assert shown.endswith(")]!")


@pytest.mark.req("R354")
def test_a_damaged_content_is_a_missing_one(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    pasted = store.put("x" * 2000)
    assert isinstance(pasted, Reference)
    files(tmp_path)[0].write_bytes(b"\xff" * 2000)
    assert store.get(pasted) is None


@pytest.mark.req("R353")
def test_a_thousand_large_pastes_leave_the_history_small(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path)
    for number in range(1_000):
        history.add(mark(1), {1: f"{number % 3}" * 100_000}, time="t", project="/p")
    assert (tmp_path / NAME).stat().st_size < 200_000
    assert len(files(tmp_path)) == 3


def test_the_history_is_newest_first_and_a_damaged_line_costs_itself(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path)
    for project in ("/p", "/q"):
        history.add(f"in {project}", {}, time="t", project=project)
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"\0\0\n{")
    assert [prompt.draft.text for prompt in history.newest(9)] == ["in /q", "in /p"]
    history.add("after", {}, time="t", project="/r")
    assert [prompt.draft.text for prompt in history.newest(9)] == ["after", "in /q", "in /p"]
    assert [prompt.draft.text for prompt in history.newest(9, project="/p")] == ["in /p"]


def test_a_name_that_is_no_hash_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the hash"):
        ContentStore(tmp_path).get(Reference("../../etc/passwd", 1, 1))
