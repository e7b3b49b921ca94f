"""Strict JSON with places: what is refused, where, and in which words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.jsontext import parse_document
from compositor.errors import SettingsError

BROKEN = [
    # (bytes, line, column, a word of the message)
    (b"", 1, 1, "empty"),
    (b" \n\n", 3, 1, "empty"),
    (b"[]", 1, 1, "one JSON object"),
    (b'"text"', 1, 1, "one JSON object"),
    (b'{\n  "a": 1', 2, 9, "does not go on"),
    (b'{\n  "a": 1,\n}', 2, 9, "comma after the last item"),
    (b'{"a": [1, 2,]}', 1, 12, "comma after the last item"),
    (b'{\n  "a" 1\n}', 2, 7, "colon"),
    (b'{\n  "a": 1\n  "b": 2\n}', 3, 3, "does not go on"),
    (b"{'a': 1}", 1, 2, "double quotes"),
    (b"{a: 1}", 1, 2, "double quotes"),
    (b'{\n  // why\n  "a": 1\n}', 2, 3, "comment"),
    (b'{"a": 1 /* why */}', 1, 9, "comment"),
    (b'# why\n{"a": 1}', 1, 1, "comment"),
    (b'{"a": "open}', 1, 7, "never closed"),
    (b'{"a": "two\nlines"}', 1, 11, "end on its line"),
    (b'{"a": "\\x41"}', 1, 8, "unknown escape"),
    (b'{"a": "\t"}', 1, 8, "control character"),
    (b'{"a": 01}', 1, 7, "no JSON value"),
    (b'{"a": .5}', 1, 7, "no JSON value"),
    (b'{"a": +1}', 1, 7, "no JSON value"),
    (b'{"a": NaN}', 1, 7, "no JSON value"),
    (b'{"a": True}', 1, 7, "no JSON value"),
    (b'{"a": }', 1, 7, "no JSON value"),
    (b'{"a": 1e999}', 1, 7, "out of range"),
    (b'{"a": 1} {"b": 2}', 1, 10, "after the end"),
    (b'{"a": "\xff"}', 1, 8, "UTF-8"),
    (b'\r\n{\r\n"a" 1}', 3, 5, "colon"),
]


@pytest.mark.parametrize(("data", "line", "column", "word"), BROKEN)
def test_broken_json_is_refused_with_line_and_column(data: bytes, line: int, column: int, word: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_document(data, "settings.json")
    error = caught.value
    assert error.where == f"settings.json:{line}:{column}"
    assert (error.path, error.line) == ("settings.json", line)
    assert word in error.message
    assert error.expected
    assert error.got
    assert error.exit_code == 2


def test_nesting_is_bounded_without_recursion_trouble() -> None:
    with pytest.raises(SettingsError, match="nested too deeply"):
        parse_document(b'{"a": ' + b"[" * 100_000, "s.json")


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse_document(b'\xef\xbb\xbf{"a": 1}', "s.json").value == {"a": 1}


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert parse_document(rb'{"a": "\ud800", "b": "\ud83d\ude00"}', "s.json").value == {
        "a": "\ufffd",
        "b": "\U0001f600",
    }


def test_places_are_those_of_keys_and_items() -> None:
    document = parse_document(b'{\n  "a": {"b": [10,\n    20]}\n}', "s.json")
    assert document.place(("a",)) == (2, 3)
    assert document.place(("a", "b")) == (2, 9)
    assert document.place(("a", "b", 0)) == (2, 15)
    assert document.place(("a", "b", 1)) == (3, 5)
    # What has no place of its own has that of the nearest thing around it.
    assert document.place(("a", "b", 7)) == (2, 9)


def test_duplicate_keys_are_known_and_the_last_one_counts() -> None:
    document = parse_document(b'{"a": 1, "a": 2}', "s.json")
    assert document.value == {"a": 2}
    assert document.duplicates == (("a",),)


_leaves = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(codec="utf-8"), max_size=9)
_values = st.recursive(
    _leaves | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), _values, max_size=5), st.booleans())
def test_legal_json_is_read_as_the_standard_library_reads_it(value: dict[str, object], indented: bool) -> None:
    text = json.dumps(value, indent=2 if indented else None)
    assert parse_document(text.encode(), "s.json").value == json.loads(text)


@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n01eE+-.tfnu/', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused_exactly_where_the_standard_library_refuses_them(data: bytes) -> None:
    try:
        expected = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
        is_object = isinstance(expected, dict)
    except ValueError:
        is_object = False
    if is_object and "Infinity" not in repr(expected) and "inf" not in repr(expected):
        assert parse_document(data, "s.json").value == expected
    elif not is_object:
        with pytest.raises(SettingsError):
            parse_document(data, "s.json")


def _refuse(word: str) -> None:
    raise ValueError(word)
