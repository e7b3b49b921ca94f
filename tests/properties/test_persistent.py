"""Persistent values: whatever is made of an older one, every one of them keeps what it held; and what is added twice is stored once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compositor.types.persistent import Ledger, Rope

# Which earlier value is extended, and with what.
GROWTH = st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(0, 12), max_size=4)), max_size=30)


@given(GROWTH)
def test_every_ledger_of_a_tree_holds_its_own_keys_in_their_order(growth: list[tuple[int, list[int]]]) -> None:
    made: list[tuple[Ledger[int], list[int]]] = [(Ledger(), [])]
    for which, keys in growth:
        ledger, held = made[which % len(made)]
        made.append((ledger.add_all(keys), list(dict.fromkeys([*held, *keys]))))
    for ledger, held in made:
        assert list(ledger) == held
        assert len(ledger) == len(held)
        assert [key for key in range(13) if key in ledger] == sorted(held)


@given(GROWTH)
def test_every_rope_of_a_tree_holds_its_own_items(growth: list[tuple[int, list[int]]]) -> None:
    made: list[tuple[Rope[int], list[int]]] = [(Rope(), [])]
    for which, items in growth:
        rope, held = made[which % len(made)]
        made.append((rope.append_all(items), [*held, *items]))
    assert [list(rope) for rope, _ in made] == [held for _, held in made]


def test_a_tail_that_is_rendered_again_copies_no_ledger() -> None:
    """Law 2: what is open is looked at anew, what is settled is not, however often the same calls come."""
    settled = Ledger(range(1_000))
    first = settled.add_all(["call"])
    again = settled.add_all(["call", "other"])
    assert first._places is settled._places
    assert again._places is settled._places
    assert list(again)[-2:] == ["call", "other"]
    assert "other" not in first
    assert list(settled.add_all(["something else"]))[-1] == "something else"
