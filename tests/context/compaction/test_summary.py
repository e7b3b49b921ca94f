"""What is asked for, and what is read out of an answer."""

import pytest

from compositor.context.compaction.outline import outline_of
from compositor.context.compaction.session_memory import (
    CALLS,
    MEMORY_TOKENS,
    SECTIONS,
    TOKENS,
    Progress,
    empty_memory,
    usable_memory,
)
from compositor.context.compaction.summary import (
    TOPICS,
    Summary,
    carried_content,
    compact_instructions,
    read_summary,
    summary_prompt,
)
from compositor.context.tokens import estimate_tokens
from tests.context.compaction.test_cut import F25


def test_the_request_names_every_topic_focus_and_the_projects_own_words() -> None:
    words = summary_prompt("the parser", "Keep the table of ports.")
    for name, _ in TOPICS:
        assert f"**{name}**" in words
    assert "the parser" in words
    assert "Keep the table of ports." in words


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        ("<summary>\nAll of it.\n</summary>", "All of it."),
        ("<analysis>hm</analysis>\n<summary>A</summary> trailing", "A"),
        ("<summary>cut off by the limit", "cut off by the limit"),
        ("No tags at all.", "No tags at all."),
        ("<analysis>only thoughts</analysis>", ""),
        ("", ""),
    ],
)
def test_the_summary_is_what_stands_between_its_tags(answer: str, summary: str) -> None:
    assert read_summary(answer) == summary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Compact instructions\n\nKeep ports.\n\n# Other\nno", "Keep ports."),
        ("## Compact Instructions:\nOne.\n### Deeper\nTwo.\n## Next\nno", "One.\n### Deeper\nTwo."),
        ("```\n# Compact instructions\nno\n```\n", ""),
        ("Nothing here.", ""),
    ],
)
def test_the_projects_instructions_come_from_their_section(text: str, found: str) -> None:
    assert compact_instructions([text]) == found


def test_what_is_carried_holds_the_request_word_for_word() -> None:
    blocks = carried_content(Summary(text="S", method="model"), request="Fix it", record="/t.jsonl")
    texts = [getattr(block, "text", "") for block in blocks]
    assert "<summary>\nS\n</summary>" in texts[0]
    assert "> Fix it" in texts[1]
    assert "/t.jsonl" in texts[2]


def test_the_outline_says_what_was_asked_read_and_answered() -> None:
    text = outline_of(F25)
    assert "- do it" in text
    assert "- t1" in text
    assert "## The last answer\n\ndone" in text
    assert outline_of(F25) == text


@pytest.mark.req("R333")
def test_the_memory_has_nine_sections_and_is_cut_at_its_limit() -> None:
    assert len(SECTIONS) == 9
    assert usable_memory(empty_memory()) == ("", False)
    text, cut = usable_memory(empty_memory() + "word\n" * 100_000)
    assert cut
    assert estimate_tokens(text.encode()) <= MEMORY_TOKENS + 50
    assert usable_memory(empty_memory().replace("# Task\n", "# Task\nMend it.\n"))[0].count("Mend it.") == 1


@pytest.mark.req("R329")
@pytest.mark.parametrize(
    ("tokens", "calls", "due"),
    [(TOKENS, CALLS, True), (TOKENS - 1, CALLS, False), (TOKENS, CALLS - 1, False), (0, 0, False)],
)
def test_an_extraction_is_due_when_both_limits_are_reached(tokens: int, calls: int, due: bool) -> None:
    assert Progress(tokens, calls).is_due is due
