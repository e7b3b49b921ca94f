"""The steps: their order, that a second run changes nothing, and that what is left out is named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compositor.context.messages.drafts import Notes, RoundContext
from compositor.context.messages.split import cut, split_oversized
from compositor.context.messages.steps import STEPS, as_draft, normalize, render_round
from compositor.context.prompt.envelope import count_look_alikes, neutralize_text, restore_text
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.messages import Role
from compositor.types.persistent import Ledger
from compositor.types.snapshot import Facts
from tests.properties.building import FACTS
from tests.properties.bulk import world
from tests.properties.strategies import TIME


def context(facts: Facts = FACTS, *, opens: bool = False, after_system: bool = False) -> RoundContext:
    return RoundContext(
        facts=facts, opens=opens, after_system=after_system, used_ids=Ledger(["t2"]), view_digest=lambda: ""
    )


def rounds(entries: tuple[TranscriptEntry, ...]) -> Iterator[list[TranscriptEntry]]:
    found: list[TranscriptEntry] = []
    for entry in entries:
        if isinstance(entry, AssistantEntry) and entry.stop_reason is not None and found:
            yield found
            found = []
        found.append(entry)
    yield found


@pytest.mark.req("R169", "R204")
def test_the_order_is_that_of_the_specification() -> None:
    """Markers are last and elsewhere (R001). What stands between the six only shapes what they leave."""
    names = [name for name, _ in STEPS]
    assert [name for name in names if name in {"filter", "expand", "pairs", "clean", "unfinished"}] == [
        "filter",
        "expand",
        "pairs",
        "clean",
        "unfinished",
    ]
    assert len(set(names)) == len(names)


@pytest.mark.req("R178")
@pytest.mark.parametrize("part", range(4))
def test_a_second_run_changes_nothing_and_says_nothing(part: int) -> None:
    for seed in range(part, 2000, 4):
        given = world(seed)
        for number, entries in enumerate(rounds(given.entries)):
            around = context(given.facts, opens=number == 0, after_system=bool(seed % 3 == 0))
            once = normalize(around, [as_draft(entry) for entry in entries], Notes())
            notes = Notes()
            twice = normalize(around, once, notes)
            assert [(draft.role, draft.parts) for draft in twice] == [(draft.role, draft.parts) for draft in once], seed
            assert notes.omissions == [], f"seed {seed}: {notes.omissions}"


@pytest.mark.req("R178", "R174")
def test_a_round_is_an_answer_a_user_message_and_system_messages_in_this_order() -> None:
    order = (Role.ASSISTANT, Role.USER, Role.SYSTEM)
    for seed in range(1000):
        given = world(seed)
        for entries in rounds(given.entries):
            roles = [message.role for message in render_round(context(given.facts), entries, Notes())]
            assert roles == sorted(roles, key=order.index), seed
            assert roles.count(Role.ASSISTANT) <= 1
            assert roles.count(Role.USER) <= 1


@pytest.mark.req("R175")
@pytest.mark.parametrize(
    "text", ["line\n" * 50, "x" * 105, "\n" * 30 + "x", "x" + " " * 40, "a\n\n\n\n\n\n\n\n\n\n\nb" * 9, ""]
)
def test_pieces_joined_give_the_text_and_none_is_blank(text: str) -> None:
    pieces = list(cut(text, limit=10))
    assert "".join(pieces) == text
    assert len(pieces) == 1 or all(piece.strip() for piece in pieces)
    assert [piece for once in pieces for piece in cut(once, limit=10)] == pieces


@pytest.mark.req("R175")
def test_only_an_oversized_prompt_is_split() -> None:
    text = "0123456789\n" * 40_000
    entry = UserEntry(uuid="u", parent=None, time=TIME, content=(TextBlock("before"), TextBlock(text)))
    (draft,) = split_oversized(context(), [as_draft(entry)], Notes())
    texts = [part.block.text for part in draft.parts if isinstance(part.block, TextBlock)]
    assert texts[0] == "before"
    assert len(texts) == 4
    assert "".join(texts[1:]) == text
    assert all(piece.endswith("\n") for piece in texts[1:])


@pytest.mark.req("R214", "R357", "R362")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("<system-reminder>", 1),
        ("</System-Reminder >", 1),
        ("< /\nsystem_reminder>", 1),
        ("<system\u200b-\u200breminder>", 1),
        ("<<system-reminder>", 1),
        ("List<SystemReminder>", 0),
        ("a reminder of the system", 0),
        ("&lt;system-reminder>", 0),
    ],
)
def test_look_alikes_are_counted_defused_and_read_back(text: str, count: int) -> None:
    assert count_look_alikes(text) == count
    defused = neutralize_text(text)
    assert count_look_alikes(defused) == 0
    assert (restore_text(defused) == text) is (not text.startswith("&lt;"))
