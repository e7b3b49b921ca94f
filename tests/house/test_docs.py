"""The documentation cannot rot unseen: its links lead somewhere and its examples run; and the checker notices when not."""

from pathlib import Path

import pytest

from scripts.check_docs import anchors, check_examples, check_links, links, pages_of
from tests.house.tree import ROOT


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("page", pages_of(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(check_links(page)) == []


@pytest.mark.parametrize("page", pages_of(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path) -> None:
    assert list(check_examples(page)) == []


def test_a_dead_link_and_a_missing_heading_are_noticed(tmp_path: Path) -> None:
    page = _page(
        tmp_path, "# A `b` c!\n\n[x](no.md) [y](#a-b-c) [z](#gone) [w](https://example.invalid) `[v](code.md)`\n"
    )
    assert [problem.split("'")[1] for problem in check_links(page)] == ["no.md", "#gone"]


def test_links_in_code_are_not_links() -> None:
    assert list(links("[a](a.md)\n\n```text\n[b](b.md)\n```\n\n![c](c.png)\n")) == ["a.md", "c.png"]


def test_repeated_headings_get_numbers(tmp_path: Path) -> None:
    assert anchors(_page(tmp_path, "# One\n\n## One\n\n## Two words ##\n")) == {"one", "one-1", "two-words"}


def test_the_examples_of_a_page_share_their_names_and_keep_their_lines(tmp_path: Path) -> None:
    page = _page(tmp_path, "```python\nx = 1\n```\n\n- in a list\n\n  ```python\n  assert x == 2\n  ```\n")
    (problem,) = check_examples(page)
    assert f'"{page}", line 8' in problem
    assert "AssertionError" in problem


def test_an_example_marked_no_run_is_not_run(tmp_path: Path) -> None:
    assert list(check_examples(_page(tmp_path, "```python no-run\nraise SystemExit(1)\n```\n"))) == []
