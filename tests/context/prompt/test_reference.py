"""The reference pages name what there is: every section, branch and diagnostic, and nothing else."""

import re
from pathlib import Path

from compositor.context.prompt.choose import Branch
from compositor.context.prompt.order import SECTIONS, SESSION_BOUND


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table behind `heading`, without code marks."""
    table = page.read_text(encoding="utf-8").split(heading, 1)[1].split("\n\n", 1)[0].strip().split("\n")
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in table[2:]]


def test_the_page_of_sections_is_the_table_of_sections(repository: Path) -> None:
    page = repository / "docs/reference/sections.md"
    expected = [
        [section.key, section.zone.value, section.priority.value, "yes" if section.key in SESSION_BOUND else "no"]
        for section in SECTIONS
    ]
    found = rows(page, "An empty block is left out.\n\n")
    assert [[key, zone, priority, moves] for key, zone, priority, _, moves in found] == expected
    headings = re.findall(r"^### `(\w+)`$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [section.key for section in SECTIONS]
    assert [row[0] for row in rows(page, "what was given and not used.\n\n")] == [branch.value for branch in Branch]


def test_the_page_of_instruction_files_names_every_diagnostic(repository: Path) -> None:
    package = repository / "src/compositor"
    codes = {
        f"memory.{code}"
        for source in (package / "context/memory").glob("*.py")
        for code in re.findall(r'(?:_report|_problem)\(\s*"([\w-]+)"', source.read_text(encoding="utf-8"))
    }
    for source in package.rglob("*.py"):
        codes.update(re.findall(r'Diagnostic\(\s*"(memory\.[\w-]+)"', source.read_text(encoding="utf-8")))
    assert [row[0] for row in rows(repository / "docs/reference/memory.md", "## Diagnostics\n\n")] == sorted(codes)
