"""The table of rules and the page that shows it."""

import re
from pathlib import Path

import pytest

from compositor.context.messages.legality import RULES, Violation, WireRule
from compositor.types.diagnostics import Severity


def _row(rule: WireRule) -> str:
    return f"| {rule.id} | {rule.severity} | {rule.title} | {rule.answer} | {rule.source}, {rule.date} |"


def test_the_page_has_one_row_for_each_rule_in_the_table_s_order(repository: Path) -> None:
    page = (repository / "docs/reference/wire-rules.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| [LW]\d", line)]
    assert rows == [_row(rule) for rule in RULES.values()]


def test_the_page_has_a_section_for_each_scope(repository: Path) -> None:
    page = (repository / "docs/reference/wire-rules.md").read_text(encoding="utf-8")
    headings = [line.removeprefix("## ").lower() for line in page.splitlines() if line.startswith("## ")]
    assert headings == [*dict.fromkeys(rule.scope for rule in RULES.values()), "what is not judged"]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_how_we_know(rule: WireRule) -> None:
    assert re.fullmatch(r"[LW]\d{2,3}", rule.id)
    assert rule.title
    assert rule.source
    assert rule.scope
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", rule.date)
    assert rule.answer


def test_a_violation_is_as_severe_as_its_rule() -> None:
    assert Violation("L55", "messages[0]", "x").severity is Severity.ERROR
    assert Violation("L86", "messages[0]", "x").severity is Severity.WARNING
