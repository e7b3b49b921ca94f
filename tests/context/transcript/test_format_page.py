"""The page about the format shows lines that the codec reads, and writes in the same way."""

import re
from pathlib import Path

import pytest

from compositor.context.transcript.codec import decode_line, decode_with_notes, encode_record
from compositor.context.transcript.shapes import Line

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "transcript-format.md"
LINES = [
    line.encode()
    for block in re.findall(r"^```jsonl\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", LINES)
def test_an_example_line_is_read_and_written_as_it_stands(line: bytes) -> None:
    assert decode_with_notes(line).notes == ()
    record = decode_line(line)
    assert encode_record(record) == line + b"\n"  # type: ignore[arg-type]


def test_every_kind_of_line_is_shown() -> None:
    shown = {re.match(rb'\{"type":"(\w+)"', line)[1].decode() for line in LINES}  # type: ignore[index]
    assert shown == {kind.__struct_config__.tag for kind in Line.__args__}
