"""The reference pages say what the tables say."""

import re
from pathlib import Path
from typing import Any

import pytest

from compositor.config.environment import HARMLESS
from compositor.config.keys import OWN, PERMISSIONS, SETTINGS, Scope
from compositor.config.layer import Level
from compositor.config.platforms import known_platforms
from compositor.config.price import known_prices
from compositor.config.profile import default_model, known_aliases, known_profiles
from compositor.config.window import WINDOW_STEPS

SETTERS = {
    Scope.ANY: "every level",
    Scope.USER: "user, command line and managed settings",
    Scope.MANAGED: "managed settings",
}


@pytest.fixture(scope="module")
def settings_page(repository: Path) -> str:
    return (repository / "docs/reference/settings.md").read_text("utf-8")


@pytest.fixture(scope="module")
def models_page(repository: Path) -> str:
    return (repository / "docs/reference/models.md").read_text("utf-8")


def rows(page: str, name: str) -> list[list[str]]:
    """The cells of the table rows whose first cell starts with a name in code."""
    lines = [line for line in page.splitlines() if line.startswith(f"| `{name}`")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_setting_has_a_heading_and_every_heading_a_setting(settings_page: str) -> None:
    headings = re.findall(r"^####? `(.+)`$", settings_page, re.MULTILINE)
    below = [f"permissions.{name}" for name in PERMISSIONS] + [f"compositor.{name}" for name in OWN]
    assert sorted(headings) == sorted([*SETTINGS, *below])


def test_every_key_is_described_by_its_note(settings_page: str) -> None:
    for name, key in SETTINGS.items():
        section = settings_page.split(f"### `{name}`\n", 1)[1].split("\n###", 1)[0]
        assert key.note in section, name
        setters = section.rsplit("Set by: ", 1)[1].split(".")[0]
        assert setters == SETTERS[key.scope], name


def test_every_level_has_a_row(settings_page: str) -> None:
    assert all(rows(settings_page, level.value) for level in Level)


def test_the_named_harmless_variables_are_harmless(settings_page: str) -> None:
    named = re.search(r"such as `(\w+)` or `(\w+)`", settings_page)
    assert named is not None
    assert set(named.groups()) <= HARMLESS


@pytest.mark.parametrize("profile", known_profiles(), ids=lambda profile: profile.id)
def test_every_model_has_its_row(models_page: str, profile: Any) -> None:
    name, window, output, thinking, bound, _, effort, role, prefill, cache, _ = rows(models_page, profile.id)[0]
    assert ("*" in name) is not profile.verified
    assert (window, output) == (f"{profile.window:,}", f"{profile.max_output:,}")
    assert thinking == f"{', '.join(profile.thinking.kinds)}; {profile.thinking.default}"
    flags = (profile.binds_thinking, bool(profile.system_role), profile.prefill)
    assert (bound, role, prefill) == tuple("yes" if flag else "no" for flag in flags)
    assert effort == (profile.default_effort or "none")
    assert cache == (f"{profile.cache_minimum:,}" if profile.cache_minimum else "unknown")


def test_every_doubt_is_listed(models_page: str) -> None:
    for profile in known_profiles():
        listed = [line for line in models_page.splitlines() if line.startswith(f"- `{profile.id}`:")]
        assert len(listed) == (0 if profile.verified else 1), profile.id
        assert all(f"`{doubt}`" in listed[0] for doubt in profile.doubts)


def test_every_price_has_its_rows(models_page: str) -> None:
    table = models_page.split("## Prices", 1)[1].split("## Platforms", 1)[0]
    for price in known_prices():
        found = rows(table, price.model)
        assert [[float(cell) for cell in row[1:]] for row in found] == [
            [tier.input, tier.output, tier.write_5m, tier.write_1h, tier.read] for tier in price.tiers
        ]


def test_every_platform_alias_and_step_has_its_row(models_page: str) -> None:
    for platform in known_platforms():
        (row,) = rows(models_page, platform.id)
        assert row[-1] == (", ".join(sorted(platform.abilities)) or "none")
    for alias, model in known_aliases().items():
        assert rows(models_page, alias)[0] == [f"`{alias}`", f"`{model}`"]
    table = models_page.split("## Window", 1)[1].split("## Output", 1)[0]
    steps = [line.split("|")[1].strip().replace("`", "") for line in table.splitlines() if line.startswith("| ")][1:]
    assert steps == [step.name for step in WINDOW_STEPS]
    assert f"a run uses `{default_model()}`" in models_page
