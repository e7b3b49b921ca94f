"""What msgspec does that one would not expect: facts our code is built around, so that a new version cannot change them unseen."""

import math

import msgspec
import pytest


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    first: int


class Child(Parent, frozen=True):
    second: int


class Text(msgspec.Struct, frozen=True, tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    source: str


class Message(msgspec.Struct, frozen=True):
    content: tuple[Text | Image, ...]


def test_kw_only_is_not_inherited() -> None:
    with pytest.raises(TypeError):
        Parent(1)  # type: ignore[misc]
    assert Child(2, first=1).second == 2


def test_a_constructor_does_not_validate() -> None:
    assert Text(text=5).text == 5  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"text","text":5}', type=Text)


def test_raw_and_whatever_holds_a_dict_are_unhashable() -> None:
    class Holder(msgspec.Struct, frozen=True):
        value: object

    with pytest.raises(TypeError):
        hash(msgspec.Raw(b"1"))
    with pytest.raises(TypeError):
        hash(Holder({"a": 1}))
    with pytest.raises(TypeError):
        hash(Holder(msgspec.Raw(b"1")))
    assert hash(Holder((1, 2))) == hash(Holder((1, 2)))


def test_unknown_fields_are_dropped_without_a_word() -> None:
    line = b'{"type":"text","text":"a","later":1}'
    assert msgspec.json.encode(msgspec.json.decode(line, type=Text)) == b'{"type":"text","text":"a"}'


def test_raw_keeps_the_bytes_it_was_given() -> None:
    class Envelope(msgspec.Struct):
        message: msgspec.Raw

    line = b'{"message":{"b": 1.10,"a":1e2,"a":2}}'
    assert bytes(msgspec.json.decode(line, type=Envelope).message) == b'{"b": 1.10,"a":1e2,"a":2}'
    assert msgspec.json.encode(msgspec.json.decode(line)) != line


def test_a_lone_surrogate_is_refused_both_ways() -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(b'"\\ud800"')
    with pytest.raises(UnicodeEncodeError):
        msgspec.json.encode("\ud800")


def test_one_unknown_tag_fails_the_whole_message() -> None:
    known = b'{"content":[{"type":"text","text":"a"}]}'
    newer = b'{"content":[{"type":"text","text":"a"},{"type":"hologram"}]}'
    assert msgspec.json.decode(known, type=Message).content == (Text("a"),)
    with pytest.raises(msgspec.ValidationError, match="hologram"):
        msgspec.json.decode(newer, type=Message)


def test_what_json_cannot_say_becomes_null() -> None:
    assert msgspec.json.encode([math.nan, math.inf]) == b"[null,null]"


def test_a_whole_number_written_as_a_float_does_not_fit_an_integer() -> None:
    assert isinstance(msgspec.json.decode(b"1.0"), float)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b"1.0", type=int)
