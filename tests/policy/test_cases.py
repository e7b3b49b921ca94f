"""The table of `cases.txt`, row by row."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from compositor.types.tools import ToolCall
from compositor.types.verdicts import PermissionMode
from tests.policy.judge import judge, make_call, make_policy, make_rules

CASES = Path(__file__).with_name("cases.txt")


class Row(NamedTuple):
    title: str
    line: int
    setup: tuple[tuple[str, str], ...]
    expected: str
    tool: str
    subject: str


def read_rows() -> Iterator[Row]:
    title, setup = "", []
    for number, line in enumerate(CASES.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("== "):
            title, setup = line[3:], []
        elif found := re.fullmatch(r"(deny|ask|allow|mode|link): (.+)", line):
            setup.append((found[1], found[2]))
        elif found := re.fullmatch(r"(deny|ask|allow) +(\w+)(?:  (.*))?", line):
            yield Row(title, number, tuple(setup), found[1], found[2], found[3] or "")
        else:
            assert not line or line.startswith("#"), f"line {number} is no case: {line!r}"


ROWS = tuple(read_rows())


def call_of(tool: str, subject: str) -> ToolCall:
    text = subject.replace("\\n", "\n").replace("\\t", "\t")
    if tool == "Glob":
        return make_call(tool, pattern=text)
    if tool == "Grep":
        return make_call(tool, pattern="x", path=text)
    if tool == "Skill":
        name, _, arguments = text.partition(" ")
        return make_call(tool, skill=name, args=arguments)
    field = {
        "Bash": "command",
        "NotebookEdit": "notebook_path",
        "WebFetch": "url",
        "WebSearch": "query",
        "Agent": "subagent_type",
    }.get(tool, "file_path")
    return make_call(tool, **{field: text})


@pytest.mark.req("R363", "R366", "R369", "R372")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.line}-{row.expected}")
def test_case(row: Row) -> None:
    def texts(key: str) -> tuple[str, ...]:
        return tuple(value for name, value in row.setup if name == key)

    mode = PermissionMode(next(iter(texts("mode")), "default"))
    links = dict(link.split(" -> ") for link in texts("link"))
    policy = make_policy(*make_rules(deny=texts("deny"), ask=texts("ask"), allow=texts("allow")), mode=mode)
    assert judge(call_of(row.tool, row.subject), policy, links) == row.expected, f"{row.title}, line {row.line}"


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(ROWS) >= 150
    assert {row.expected for row in ROWS} == {"allow", "ask", "deny"}
