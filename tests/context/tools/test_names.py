"""Legal names for foreign tools, the same every time, and the way back."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.tools.names import is_legal_name, map_names

FIELD_REPORT = ("Dockerfile problems scanner", "user-profile/update", "admin.tools.list", "x" * 90, "a.b", "a_b")
LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_names_that_an_api_refuses_become_legal_and_can_be_found_back() -> None:
    mapped = map_names(FIELD_REPORT)
    assert mapped.wire["Dockerfile problems scanner"] == "Dockerfile_problems_scanner"
    assert mapped.wire["user-profile/update"] == "user-profile_update"
    assert mapped.wire["admin.tools.list"] == "admin_tools_list"
    assert mapped.wire["a_b"] == "a_b"
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", mapped.wire["a.b"])
    assert re.fullmatch(r"x{55}_[0-9a-f]{8}", mapped.wire["x" * 90])
    assert {mapped.real[wire] for wire in mapped.wire.values()} == set(FIELD_REPORT)
    assert ("a_b", "a_b") not in mapped.renamed
    assert len(mapped.renamed) == 5


def test_two_names_that_would_become_one_both_get_a_hash() -> None:
    mapped = map_names(["a.b", "a/b"])
    assert len(set(mapped.wire.values())) == 2
    assert all(re.fullmatch(r"a_b_[0-9a-f]{8}", wire) for wire in mapped.wire.values())


def test_a_name_that_was_sent_never_changes() -> None:
    first = map_names(["a.b"])
    assert first.wire == {"a.b": "a_b"}
    later = map_names(["a.b", "a/b", "a b"], known=first.wire)
    assert later.wire["a.b"] == "a_b"
    assert len(set(later.wire.values())) == 3


def test_the_order_of_the_names_does_not_matter() -> None:
    expected = map_names(FIELD_REPORT)
    shuffled = list(FIELD_REPORT)
    random.Random(3).shuffle(shuffled)
    assert map_names(shuffled) == expected


@pytest.mark.parametrize("name", ["", "é", "a b", "x" * 65, "a\n"])
def test_illegal_names_are_known(name: str) -> None:
    assert not is_legal_name(name)


@given(st.lists(st.text(max_size=80), max_size=12))
def test_every_set_of_names_maps_to_distinct_legal_ones(names: list[str]) -> None:
    mapped = map_names(names)
    assert set(mapped.wire) == set(names)
    assert len(set(mapped.wire.values())) == len(set(names))
    assert all(LEGAL.fullmatch(wire) for wire in mapped.wire.values())
    assert all(mapped.real[wire] == name for name, wire in mapped.wire.items())
