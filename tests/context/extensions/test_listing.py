"""The listing of skills keeps every name, and its budget."""

import string

from hypothesis import given
from hypothesis import strategies as st

from compositor.context.extensions.catalog import Kind, Place
from compositor.context.extensions.listing import list_skills, listing_budget
from compositor.context.extensions.skills import Skill

names = st.text(string.ascii_lowercase, min_size=1, max_size=12)
skills = st.dictionaries(names, st.text(string.ascii_letters + " ", max_size=300), max_size=12)


def skill(name: str, description: str = "", **fields: object) -> Skill:
    return Skill(
        kind=Kind.SKILL, name=name, place=Place.PROJECT, path=f"/{name}", body="b", description=description, **fields
    )  # type: ignore[arg-type]


@given(skills, st.integers(0, 3_000), st.randoms())
def test_every_name_stays_in_one_order_and_the_budget_is_kept(found, budget, chance) -> None:  # type: ignore[no-untyped-def]
    given_skills = [skill(name, text) for name, text in found.items()]
    listing = list_skills(given_skills, budget)
    chance.shuffle(given_skills)
    assert list_skills(given_skills, budget) == listing
    assert list(listing.names) == sorted(found)
    bare = "\n".join(f"- {name}" for name in sorted(found))
    assert len(listing.text) <= max(budget, len(bare))
    assert [line.split(":")[0] for line in listing.lines] == bare.split("\n")[: len(found)]


def test_the_least_used_lose_their_words_first_and_are_named() -> None:
    listing = list_skills([skill(name, "x" * 100) for name in "abc"], 230, used={"a": 0, "b": 5, "c": 2})
    assert [len(line) > 10 for line in listing.lines] == [False, True, True]
    assert [omission.what for omission in listing.omissions] == ["description of skill a"]


def test_a_long_description_is_cut_at_the_limit() -> None:
    listing = list_skills([skill("a", "x" * 1_000, when_to_use="y" * 1_000)], 8_000)
    assert len(listing.lines[0]) == len("- a: ") + 1_536
    assert listing.omissions[0].what == "end of the description of skill a"


def test_what_the_model_may_not_invoke_is_not_listed() -> None:
    assert list_skills([skill("a", listed=False), skill("b", globs=("*.py",)), skill("c")], 100).names == ("c",)


def test_the_budget_is_a_share_of_the_window_or_a_number() -> None:
    assert listing_budget(200_000) == 8_000
    assert listing_budget(None) == 8_000
    assert listing_budget(200_000, 0.02) == 16_000
    assert listing_budget(200_000, 0.02, 500) == 500
