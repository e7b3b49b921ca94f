"""The colors of the interactive prompt.

Decides which color means what. Sizes and words are not a matter of a theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Theme(Struct, frozen=True, kw_only=True):
    """Styles by what they mean, in the words of rich; `code` names the colors of program text. All empty for no color."""

    name: str
    accent: str = ""
    muted: str = ""
    good: str = ""
    bad: str = ""
    warn: str = ""
    person: str = ""
    code: str = "default"

    @property
    def is_plain(self) -> bool:
        return not self.accent


THEMES: Final[Mapping[str, Theme]] = {
    theme.name: theme
    for theme in (
        Theme(name="dark", accent="cyan", muted="bright_black", good="green", bad="red", warn="yellow", person="bold"),
        Theme(
            name="light",
            accent="blue",
            muted="grey50",
            good="dark_green",
            bad="dark_red",
            warn="dark_orange3",
            person="bold",
            code="friendly",
        ),
        Theme(
            name="high-contrast",
            accent="bold bright_cyan",
            muted="white",
            good="bold bright_green",
            bad="bold bright_red",
            warn="bold bright_yellow",
            person="bold bright_white",
        ),
        Theme(name="none"),
    )
}


def choose_theme(wanted: str, environ: Mapping[str, str]) -> Theme:
    """The theme of the settings; none where `NO_COLOR` is set (to anything) or the terminal says that it knows no colors."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return THEMES["none"]
    return THEMES[wanted]
