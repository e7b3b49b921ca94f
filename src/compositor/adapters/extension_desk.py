"""What a session that starts here would find: skills and commands, agents, output styles.

Performs the look-up of settings and files; the choice among them is made in `context/extensions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from compositor.config.flags import SOURCES, Flags
from compositor.config.settings import Settings
from compositor.context.extensions.agents import AgentDefinition, parse_given, settle_agents
from compositor.context.extensions.catalog import Catalog, Kind
from compositor.context.extensions.skills import Skill, settle_skills, with_nested
from compositor.context.extensions.styles import DEFAULT, OutputStyle, settle_styles
from compositor.errors import UsageError
from compositor.types.diagnostics import Diagnostic

from .extensions import ExtensionPlaces, find_below, find_extensions
from .git import read_git
from .settings_files import SettingsPlaces, find_places, load_settings


class ExtensionDesk(Struct, frozen=True, kw_only=True):
    """One place's extensions. `agents_json` is the value of `--agents`. Each call looks anew."""

    places: ExtensionPlaces
    settings: Settings
    agents_json: str | None = None

    @classmethod
    def open(cls, cwd: str, flags: Flags, environ: Mapping[str, str], agents_json: str | None = None) -> ExtensionDesk:
        """For the real path `cwd`. Raises what its settings raise."""
        places = find_places(cwd, environ)
        settings = load_settings(places, given=flags.settings, sources=flags.setting_sources)
        where = extension_places(places, read_git(cwd, environ).root, flags)
        return cls(places=where, settings=settings, agents_json=agents_json)

    def skills(self, below: Sequence[str] = ()) -> Catalog[Skill]:
        """The skills of the places, and of the folders `below` the start directory that the work has reached."""
        found = (*find_extensions(self.places, Kind.SKILL), *find_extensions(self.places, Kind.COMMAND))
        catalog = settle_skills(found, self.settings.skill_overrides)
        return with_nested(catalog, find_below(below, Kind.SKILL)) if below else catalog

    def agents(self) -> Catalog[AgentDefinition]:
        given = () if self.agents_json is None else parse_given(self.agents_json)
        return settle_agents(find_extensions(self.places, Kind.AGENT), given)

    def lead(self, flag: str | None, setting: str | None) -> AgentDefinition | None:
        """The agent that leads the conversation; `None` for none. Raises `UsageError` for one that is not there."""
        name = flag or setting
        if not name:
            return None
        agents = self.agents()
        found = agents.find(name)
        if found is None:
            names = ", ".join(agent.name for agent in agents.active)
            where = "--agent" if flag else "the setting 'agent'"
            raise UsageError(f"there is no agent {name!r}", where=where, hint=f"There are: {names}")
        return found

    def styles(self) -> Catalog[OutputStyle]:
        return settle_styles(find_extensions(self.places, Kind.STYLE))

    def style(self, name: str | None) -> tuple[OutputStyle | None, tuple[Diagnostic, ...]]:
        """The style of this name, whatever its letters' case; none for the default one, and a remark where there is no such style."""
        wanted = (name or DEFAULT).casefold()
        if wanted == DEFAULT.casefold():
            return None, ()
        styles = self.styles().active
        found = next((style for style in styles if style.name.casefold() == wanted), None)
        if found is not None:
            return found, ()
        names = ", ".join(style.name for style in styles)
        message = f"There is no output style {name!r}; the default one applies. There are: {names}"
        return None, (Diagnostic("extensions.style", message, where="outputStyle", step="extensions"),)


def extension_places(places: SettingsPlaces, root: str | None, flags: Flags) -> ExtensionPlaces:
    """The places of a run; `root` is the top of the checkout."""
    levels = SOURCES if flags.setting_sources is None else flags.setting_sources
    return ExtensionPlaces(
        cwd=places.cwd, root=root, user=places.user, managed=places.managed, levels=frozenset(levels)
    )
