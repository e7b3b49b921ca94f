"""Large results: which ones have to go, and what stands in their place (F40)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.tools.limits import PREVIEW_CHARACTERS, Kept, Limits, kind_of, plan_limits, preview, too_long

KEPT = Kept(path="/out/x.txt", described="All of it is in /out/x.txt")


@pytest.mark.parametrize(
    ("sizes", "limit", "chosen"),
    [
        ([100, 200], 1_000, ()),
        ([110_000] * 4, 272_000, (0, 1)),
        ([5_000, 90_000, 80_000], 60_000, (1, 2)),
        ([50_000, 1_000, 1_000], 50_000, (0,)),
        ([1_500] * 100, 60_000, ()),
        ([], 10, ()),
    ],
)
def test_the_largest_go_until_the_rest_fits(sizes, limit, chosen):
    assert too_long(sizes, limit) == chosen


@given(st.lists(st.integers(0, 200_000), max_size=30), st.integers(10_000, 300_000))
def test_what_stays_fits_or_is_short(sizes, limit):
    chosen = too_long(sizes, limit)
    left = [size for index, size in enumerate(sizes) if index not in chosen]
    assert sum(left) + 2_000 * len(chosen) <= limit or all(size <= 2_000 for size in left)


def test_a_preview_says_what_is_missing_in_numbers():
    text = "a" * 3_000 + "中" * 3_000 + "z" * 3_000
    shown = preview(text, "plain text", KEPT)
    assert shown.startswith("a" * PREVIEW_CHARACTERS + "\n[5,000 of 9,000 characters are left out here.")
    assert shown.endswith("]\n" + "z" * PREVIEW_CHARACTERS)
    assert "plain text of 15,000 bytes" in shown
    assert KEPT.described in shown


@given(st.text(min_size=20, max_size=40).map(lambda text: text * 300))
def test_a_cut_never_falls_inside_a_character(text):
    shown = preview(text, "plain text", KEPT)
    assert shown.encode()
    assert shown.startswith(text[:PREVIEW_CHARACTERS])


@pytest.mark.parametrize(
    ("text", "kind"),
    [(' {"a":1}', "JSON"), ("[1]", "JSON"), ("<a/>", "XML or HTML"), ("x", "plain text"), ("", "plain text")],
)
def test_kinds_are_told_by_the_first_character(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("window", "asked", "result", "batch"),
    [
        (1_000_000, None, 25_000, 60_000),
        (200_000, None, 25_000, 60_000),
        (32_000, None, 4_000, 9_600),
        (32_000, 20_000, 4_000, 20_000),
    ],
)
def test_limits_are_shares_of_a_small_window(window, asked, result, batch):
    """F40."""
    assert plan_limits(window, asked) == Limits(result=result, batch=batch)
