"""Text of a file and back: whatever the bytes, nothing is lost."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compositor.adapters.tools.text_files import decode_text, encode_text, to_crlf, to_lf


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@example(b"\xff\xfea\0")
@example(b"\xfe\xff\xd8\x00")
@example(b"\xef\xbb\xbf\xff")
@example(b"\x81\x8d\xff")
@example(b"\xed\xa0\x80 \xc3\xa9")
def test_every_text_comes_back_byte_for_byte(data: bytes) -> None:
    file = decode_text(data)
    assert file is None or encode_text(file.text, like=file) == data


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        ("né".encode(), "utf-8", "né"),
        ("né".encode("cp1252"), "cp1252", "né"),
        (b"\x81\xe9", "latin-1", "\x81é"),
        ("né".encode() + b"\xff", "utf-8", "né\udcff"),
        ("né".encode("utf-16-be"), None, None),
        (b"\xfe\xff" + "né".encode("utf-16-be"), "utf-16-be", "né"),
        (b"a\0b", None, None),
    ],
)
def test_encodings_are_told_apart(data: bytes, encoding: str | None, text: str | None) -> None:
    file = decode_text(data)
    assert (file and file.encoding, file and file.text) == (encoding, text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a\n", ("a",)),
        ("a\r\n\r\nb", ("a", "", "b")),
        ("a\rb\x0c\u2028c\n", ("a\rb\x0c\u2028c",)),
    ],
)
def test_only_a_line_feed_ends_a_line(text: str, lines: tuple[str, ...]) -> None:
    file = decode_text(text.encode())
    assert file is not None
    assert file.lines == lines


@given(st.text(alphabet="ab\r\n", max_size=30))
def test_line_ends_convert_both_ways(text: str) -> None:
    plain = to_lf(text)
    assert "\r\n" not in plain or "\r\r\n" in text
    assert to_crlf(to_crlf(plain)) == to_crlf(plain)
    assert "\r" in text or to_lf(to_crlf(text)) == text
