"""A skill or a command file as a value (project-conventions 5.1, 5.2).

Decides what its head means and which file is none. Never renders a body: that is `substitute.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname

from msgspec import Struct
from msgspec.structs import replace

from compositor.config.profile import Effort
from compositor.context.memory.front_matter import split_globs

from .catalog import Catalog, Kind, Place, Refused, SourceFile, settle
from .fields import Fields, first_paragraph

RESERVED = frozenset({"synced"})
"""Names that no skill may have (5.1)."""

_NAME = re.compile(r"[^\s/\\:\x00-\x1f]+\Z")
_ORDER = (Place.MANAGED, Place.USER, Place.PROJECT, Place.BUILT_IN)
_EFFORTS = tuple(effort.value for effort in Effort)


class Skill(Struct, frozen=True, kw_only=True):
    """`body` is what is told when it is invoked. `forks`: the body becomes the task of an agent, in the `background` where that is possible.

    `listed`: the model may see and invoke it; `typed`: a person may type `/name`. `globs` name the files it waits for; empty for none.
    `name` is how it is called, `label` what its head calls it.
    """

    kind: Kind
    name: str
    place: Place
    path: str
    body: str
    description: str = ""
    label: str = ""
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    listed: bool = True
    typed: bool = True
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    forks: bool = False
    agent: str = "general-purpose"
    background: bool = True
    globs: tuple[str, ...] = ()
    shell: str = "bash"
    problems: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return dirname(self.path)


def parse_skill(source: SourceFile) -> Skill | Refused:
    """The skill or command in `source`, or why there is none. A head that YAML refuses leaves the body (5.2)."""
    if source.problem:
        return Refused(source, source.problem)
    if source.name in RESERVED:
        return Refused(source, f"the name {source.name!r} is reserved")
    if _NAME.match(source.name) is None:
        return Refused(source, f"nobody can call {source.name!r}: a name has no blanks, slashes or colons")
    fields = Fields.of(source.text)
    if not fields.body:
        return Refused(source, "it has no text")
    is_skill = source.kind is Kind.SKILL
    globs = split_globs(fields.raw("paths")) if is_skill else ()
    if globs is None:
        fields.problems.append("'paths' must be text or a list of text and is ignored")
    if fields.has("hooks"):
        fields.problems.append("'hooks' of a skill are not run; put them into the settings")
    fields.text("compatibility", limit=500)
    return Skill(
        kind=source.kind,
        name=source.name,
        place=source.place,
        path=source.path,
        body=fields.body,
        label=fields.text("name") if is_skill else "",
        description=fields.text("description") or first_paragraph(fields.body),
        when_to_use=fields.text("when_to_use"),
        argument_hint=_hint(fields),
        arguments=_arguments(fields),
        listed=not fields.flag("disable-model-invocation", default=False),
        typed=fields.flag("user-invocable", default=True),
        allowed_tools=fields.words("allowed-tools") or (),
        disallowed_tools=fields.words("disallowed-tools") or (),
        model=fields.text("model"),
        effort=fields.choice("effort", _EFFORTS),
        forks=fields.choice("context", ("fork",)) == "fork",
        agent=fields.text("agent") or "general-purpose",
        background=fields.flag("background", default=True),
        globs=globs or (),
        shell=fields.choice("shell", ("bash", "powershell")) or "bash",
        problems=tuple(fields.problems),
    )


def settle_skills(sources: Sequence[SourceFile], overrides: Mapping[str, str] | None = None) -> Catalog[Skill]:
    """Skills and commands together: skill beats command, then managed, personal, project, bundled (5.1).

    `overrides` is the setting `skillOverrides`: name to `on`, `name-only`, `user-invocable-only` or `off`.
    """
    wanted = {} if overrides is None else overrides

    def off(skill: Skill) -> str:
        return "the setting 'skillOverrides' switches it off" if wanted.get(skill.name) == "off" else ""

    catalog = settle([parse_skill(source) for source in sources], _rank, off)
    return Catalog(
        active=tuple(_overridden(skill, wanted.get(skill.name)) for skill in catalog.active), rows=catalog.rows
    )


def with_nested(catalog: Catalog[Skill], sources: Sequence[SourceFile]) -> Catalog[Skill]:
    """`catalog` with the skills of folders below the start directory. One whose name is taken is called by its folder too, `sub:name` (5.1)."""
    taken = {skill.name for skill in catalog.active}
    found = []
    for source in sources:
        skill = parse_skill(source)
        if isinstance(skill, Skill) and skill.name in taken:
            skill = replace(skill, name=f"{_folder_name(source.path)}:{skill.name}")
        found.append(skill)
    nested = settle(found, lambda _one: ())
    active = (*catalog.active, *nested.active)
    return Catalog(active=tuple(sorted(active, key=lambda skill: skill.name)), rows=(*catalog.rows, *nested.rows))


def _folder_name(path: str) -> str:
    """`api` for `/project/services/api/.claude/skills/deploy/SKILL.md`."""
    return basename(path.rpartition("/.claude/")[0])


def _rank(one: Skill | Refused) -> tuple[int, ...]:
    return (one.kind is Kind.COMMAND, _ORDER.index(one.place))


def _overridden(skill: Skill, wanted: str | None) -> Skill:
    match wanted:
        case "name-only":
            return replace(skill, description="", when_to_use="")
        case "user-invocable-only":
            return replace(skill, listed=False)
        case _:
            return skill


def _hint(fields: Fields) -> str:
    """`[file] [depth]` in YAML is a list unless it is quoted, and meant as text."""
    value = fields.raw("argument-hint")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return f"[{', '.join(value)}]"
    return fields.text("argument-hint")


def _arguments(fields: Fields) -> tuple[str, ...]:
    """Names between blanks or commas, or as a list."""
    names = fields.words("arguments") or ()
    return tuple(dict.fromkeys(word for name in names for word in name.split()))
