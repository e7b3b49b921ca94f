"""Whatever stands in a file, a replay counts it and goes on; and it does not depend on how a record is spelled."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from compositor.insight.replay.breaks import find_breaks
from compositor.insight.replay.foreign import ForeignReplay
from compositor.insight.replay.rows import Session
from compositor.insight.replay.totals import Ledger
from tests.insight.replay.planted import BREAKS, begun

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([
    "type", "uuid", "parentUuid", "timestamp", "message", "attachment", "isSidechain", "agentId", "cwd", "effort", "subtype",
    "compactMetadata", "version", "sessionId",
])  # fmt: skip
PARTS = st.sampled_from(["id", "model", "content", "usage", "diagnostics", "context_management", "role"])
PLAYED = BREAKS["automatic compaction"][1]().lines


def replay(lines: list[bytes]) -> Session:
    found = ForeignReplay()
    for line in lines:
        found.add(line)
    return found.finish("x")


@given(st.lists(st.tuples(st.integers(0, len(PLAYED) - 1), NAMES | PARTS, VALUES), max_size=6))
def test_records_of_any_shape_are_taken(changes: list[tuple[int, str, object]]) -> None:
    lines = list(PLAYED)
    for at, name, value in changes:
        record = json.loads(lines[at])
        inner = name in {"id", "model", "content", "usage", "diagnostics", "context_management", "role"}
        if inner and isinstance(record.get("message"), dict):
            record["message"][name] = value
        else:
            record[name] = value
        lines[at] = json.dumps(record).encode() + b"\n"
    session = replay(lines)
    assert session.lines == len(lines)
    find_breaks(session.requests)
    Ledger().add(session)


@given(st.lists(st.binary(max_size=60), max_size=12))
def test_bytes_of_any_kind_are_counted(lines: list[bytes]) -> None:
    session = replay(lines)
    assert session.lines == len(lines)
    assert session.size == sum(map(len, lines))
    assert session.damaged <= len(lines)


@given(st.integers(0, 2**32))
def test_the_order_of_fields_and_unknown_ones_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    lines = []
    for line in PLAYED:
        fields = [*json.loads(line).items(), ("unknown", {"a": [1, "b"]})]
        chance.shuffle(fields)
        lines.append(json.dumps(dict(fields), indent=None, ensure_ascii=bool(seed % 2)).encode() + b"\n")
    assert replay(lines).requests == replay(PLAYED).requests


def test_a_lone_surrogate_does_not_cost_the_record() -> None:
    lines = begun().lines
    broken = lines[1].replace(b"aaaa", rb"a\ud800", 1)
    assert broken != lines[1]
    assert len(replay([lines[0], broken, *lines[2:]]).requests) == 4


def test_nothing_of_a_conversation_is_kept() -> None:
    """What is stored between runs holds no text of a prompt, an answer or a result."""
    import msgspec

    recorder = begun()
    recorder.messages[-1]["content"][0]["text"] = "x"
    kept = msgspec.json.encode(replay(recorder.lines))
    assert b"uuuu" not in kept
    assert b"aaaa" not in kept
