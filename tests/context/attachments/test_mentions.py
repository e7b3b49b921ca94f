"""Which words of a prompt are mentions, and what each may mean (F24)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.attachments.mentions import MAX_MENTIONS, Reading, find_mentions, quote_mention

CASES = [
    ("see @docs/plain.md.", [("@docs/plain.md", ["docs/plain.md.", "docs/plain.md"])]),
    ('see @"docs/My File.md", and @a.py', [('@"docs/My File.md"', ["docs/My File.md"]), ("@a.py", ["a.py"])]),
    ("@src/ and @./b", [("@src/", ["src/"]), ("@./b", ["./b"])]),
    ("(@logo.png)", [("@logo.png", ["logo.png)", "logo.png"])]),
    ("mail ada@example.org", []),
    ("a lone @ sign, and @", []),
    ("@a @a @a", [("@a", ["a"])]),
    ("line\n@b", [("@b", ["b"])]),
]


@pytest.mark.req("R184")
@pytest.mark.parametrize(("prompt", "expected"), CASES)
def test_mentions_of_a_prompt(prompt: str, expected: list[tuple[str, list[str]]]) -> None:
    found = [(mention.typed, [reading.name for reading in mention.readings]) for mention in find_mentions(prompt)]
    assert found == expected


@pytest.mark.parametrize(
    ("typed", "first", "last"),
    [
        ("@big.log#L10-20", 10, 20),
        ("@big.log#L10-L20", 10, 20),
        ("@big.log:10-20", 10, 20),
        ("@big.log:20-10", 10, 20),
        ("@big.log#L10", 10, 10),
        ("@big.log:10", 10, 10),
        ('@"big.log"#L10-20', 10, 20),
        ('@"big.log":10-20', 10, 20),
        ("@big.log:0", 1, 1),
    ],
)
def test_line_ranges(typed: str, first: int, last: int) -> None:
    (mention,) = find_mentions(f"look at {typed}, please")
    assert Reading("big.log", first, last) in mention.readings


@given(st.text(min_size=1, max_size=30).filter(lambda text: '"' not in text and "\n" not in text and text.strip()))
def test_what_completion_inserts_is_found_again(path: str) -> None:
    (mention,) = find_mentions(f"see {quote_mention(path)} now")
    assert Reading(path) in mention.readings


@given(st.text(max_size=400))
def test_no_prompt_breaks_it(prompt: str) -> None:
    for mention in find_mentions(prompt):
        assert mention.typed.startswith("@")
        assert mention.readings


def test_very_many_are_not_followed() -> None:
    assert len(find_mentions(" ".join(f"@f{at}" for at in range(500)))) == MAX_MENTIONS
