"""Markdown in pieces: nothing is lost, nothing is shown before it is finished, and a fence is one block."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from compositor.interactive.markdown_stream import MarkdownStream

TEXT = st.lists(
    st.sampled_from(["word", "\n", "\n\n", "```", "~~~", "- item", " ", "# T", "1. ```py\n"]), max_size=30
).map("".join)


@given(TEXT, st.lists(st.integers(0, 200), max_size=10))
def test_law_the_pieces_together_are_the_text(text: str, cuts: list[int]) -> None:
    stream, shown = MarkdownStream(), ""
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in itertools.pairwise(places):
        shown += stream.feed(text[start:end])
        assert shown + stream.rest == text[:end]
    assert shown + stream.flush() == text


@given(TEXT)
def test_law_one_character_at_a_time_finishes_the_same(text: str) -> None:
    whole, slow = MarkdownStream(), MarkdownStream()
    done = whole.feed(text)
    assert "".join(map(slow.feed, text)) == done


def test_a_block_ends_at_an_empty_line_and_a_fence_at_its_own_sign() -> None:
    stream = MarkdownStream()
    assert stream.feed("one\ntwo") == ""
    assert stream.feed("\n\nthree") == "one\ntwo\n\n"
    assert stream.feed("\n\n```py\na = 1\n\nb = 2\n~~~\n") == "three\n\n"
    assert stream.feed("```\nrest") == "```py\na = 1\n\nb = 2\n~~~\n```\n"
    assert stream.flush() == "rest"
