"""The page says what the tables say."""

from pathlib import Path

import pytest

from compositor.policy.audit import Gate
from compositor.policy.paths import PROTECTED_FILES, PROTECTED_FOLDERS
from compositor.types.patterns import DESTRUCTIVE_PATTERNS
from compositor.types.verdicts import PermissionMode


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/reference/permissions.md").read_text(encoding="utf-8")


@pytest.mark.req("R369")
def test_every_destructive_pattern_stands_on_the_page(page: str) -> None:
    for row in DESTRUCTIVE_PATTERNS:
        asks = "in every mode" if row.always else "unless an exact rule allows it"
        assert f"| `{row.name}` | {row.warning} | {asks} |" in page


@pytest.mark.parametrize(
    "name", sorted([*PROTECTED_FOLDERS, *PROTECTED_FILES, *(mode.value for mode in PermissionMode)])
)
def test_every_protected_name_and_mode_stands_on_the_page(page: str, name: str) -> None:
    assert f"`{name}`" in page


def test_the_gates_stand_on_the_page_in_their_order(page: str) -> None:
    places = [page.index(f"| `{gate.value}` |") for gate in Gate]
    assert places == sorted(places)
