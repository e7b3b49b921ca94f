"""Patches: hunks as a reader expects them, and applying one gives the new text."""

from hypothesis import given
from hypothesis import strategies as st

from compositor.context.tools.patch import Hunk, make_patch

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "x\r\n", "form\x0cfeed\n"]), max_size=30)


def applied(old: str, hunks: tuple[Hunk, ...]) -> list[str]:
    """The new lines that a reader of the patch gets, without line ends."""
    source = bare(old)
    result: list[str] = []
    position = 0
    for hunk in hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        result += source[position:start]
        kept = [line[1:] for line in hunk.lines if line[0] in " -"]
        assert kept == source[start : start + hunk.old_lines]
        added = [line[1:] for line in hunk.lines if line[0] in " +"]
        assert len(added) == hunk.new_lines
        result += added
        position = start + hunk.old_lines
    return result + source[position:]


def bare(text: str) -> list[str]:
    parts = text.split("\n")
    if not parts[-1]:
        parts.pop()
    return [part.rstrip("\r") for part in parts]


def test_a_change_has_three_lines_around_it() -> None:
    old = "".join(f"{number}\n" for number in range(1, 11))
    assert make_patch(old, old.replace("5\n", "five\n")) == (
        Hunk(
            old_start=2,
            old_lines=7,
            new_start=2,
            new_lines=7,
            lines=(" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"),
        ),
    )


def test_changes_far_apart_are_two_hunks_with_shifted_starts() -> None:
    old = "".join(f"{number}\n" for number in range(1, 31))
    first, second = make_patch(old, old.replace("2\n", "2\nnew\n", 1).replace("\n25\n", "\nlast\n"))
    assert (first.old_start, first.new_start) == (1, 1)
    assert (second.old_start, second.new_start) == (22, 23)


def test_equal_texts_have_no_patch() -> None:
    assert make_patch("a\n", "a\n") == ()


def test_a_new_file_is_one_hunk_of_additions() -> None:
    assert make_patch("", "a\nb") == (Hunk(old_start=0, old_lines=0, new_start=1, new_lines=2, lines=("+a", "+b")),)


def test_a_very_large_change_is_one_hunk() -> None:
    old = "".join(f"{number}\n" for number in range(3_000))
    new = "".join(f"x{number}\n" for number in range(3_000))
    (hunk,) = make_patch(old, new)
    assert (hunk.old_lines, hunk.new_lines) == (3_000, 3_000)


@given(LINES, LINES)
def test_applying_the_patch_gives_the_new_text(old: list[str], new: list[str]) -> None:
    before, after = "".join(old), "".join(new)
    assert applied(before, make_patch(before, after)) == bare(after)
