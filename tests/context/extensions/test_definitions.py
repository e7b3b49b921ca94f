"""Heads of skills, agents and output styles in all documented spellings, and which definition of a name counts."""

import pytest

from compositor.context.extensions.agents import parse_agent, parse_given, settle_agents
from compositor.context.extensions.catalog import Kind, Place, Refused, SourceFile, State
from compositor.context.extensions.skills import Skill, parse_skill, settle_skills
from compositor.context.extensions.styles import parse_style, settle_styles
from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode


def source(text: str, name: str = "one", kind: Kind = Kind.SKILL, place: Place = Place.PROJECT) -> SourceFile:
    return SourceFile(kind=kind, place=place, name=name, path=f"/{place}/{kind}/{name}", text=text)


def skill(text: str, name: str = "one") -> Skill:
    found = parse_skill(source(text, name))
    assert isinstance(found, Skill)
    return found


def test_every_field_of_a_skill_is_read() -> None:
    found = skill(
        "---\nname: A label\ndescription: What it does\nwhen_to_use: When asked\nargument-hint: [file] [depth]\n"
        "arguments: file depth\ndisable-model-invocation: yes\nuser-invocable: off\n"
        "allowed-tools: Bash(git add *, git rm *), Read\ndisallowed-tools:\n  - Write\nmodel: opus\neffort: high\n"
        "context: fork\nagent: Explore\nbackground: 0\npaths: 'src/**/*.{ts,tsx}, docs/*.md'\nshell: bash\n---\n\nDo it.\n"
    )
    assert (found.name, found.label, found.body) == ("one", "A label", "Do it.")
    assert (found.description, found.when_to_use) == ("What it does", "When asked")
    assert found.arguments == ("file", "depth")
    assert (found.listed, found.typed, found.forks, found.background) == (False, False, True, False)
    assert found.allowed_tools == ("Bash(git add *, git rm *)", "Read")
    assert found.disallowed_tools == ("Write",)
    assert (found.model, found.effort, found.agent) == ("opus", "high", "Explore")
    assert found.globs == ("src/**/*.{ts,tsx}", "docs/*.md")


@pytest.mark.parametrize("word", ["true", "yes", "on", "1", "Yes", "TRUE"])
def test_a_switch_is_written_in_many_ways(word: str) -> None:
    assert not skill(f"---\ndisable-model-invocation: {word}\n---\nBody").listed


def test_a_wrong_field_is_named_and_costs_only_itself() -> None:
    found = skill("---\ndescription: Fine\nuser-invocable: perhaps\neffort: enormous\nallowed-tools: {a: b}\n---\nBody")
    assert found.description == "Fine"
    assert found.typed
    assert {problem.split("'")[1] for problem in found.problems} == {"user-invocable", "effort", "allowed-tools"}


def test_a_head_that_is_no_yaml_leaves_the_body() -> None:
    found = skill("---\n[: {\n---\n# Title\n\nFirst words\nof the body.\n\nMore.")
    assert found.body.startswith("# Title")
    assert found.description == "First words of the body."
    assert "not YAML" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [("Body", "synced", "reserved"), ("Body", "two words", "blanks"), ("---\nname: x\n---\n \n", "one", "no text")],
)
def test_what_is_no_skill_says_why(text: str, name: str, reason: str) -> None:
    found = parse_skill(source(text, name))
    assert isinstance(found, Refused)
    assert reason in found.reason


def test_of_one_name_managed_comes_first_then_personal_project_and_commands_last() -> None:
    places = [
        source("c", kind=Kind.COMMAND, place=Place.MANAGED),
        source("p", place=Place.PROJECT),
        source("u", place=Place.USER),
        source("m", place=Place.MANAGED),
    ]
    catalog = settle_skills(places)
    assert [(row.place, row.kind, row.state) for row in catalog.rows] == [
        (Place.MANAGED, Kind.SKILL, State.ACTIVE),
        (Place.USER, Kind.SKILL, State.SHADOWED),
        (Place.PROJECT, Kind.SKILL, State.SHADOWED),
        (Place.MANAGED, Kind.COMMAND, State.SHADOWED),
    ]
    assert [found.body for found in catalog.active] == ["m"]
    assert "/managed/skill/one has the same name" in catalog.rows[1].reason


def test_a_command_file_ignores_name_and_paths() -> None:
    found = parse_skill(source("---\nname: other\npaths: '*.py'\n---\nBody", kind=Kind.COMMAND))
    assert isinstance(found, Skill)
    assert (found.name, found.label, found.globs) == ("one", "", ())


def test_overrides_switch_off_hide_or_shorten() -> None:
    text = "---\ndescription: Words\n---\nBody"
    overrides = {"a": "off", "b": "user-invocable-only", "c": "name-only"}
    catalog = settle_skills([source(text, name) for name in "abcd"], overrides)
    assert [(one.name, one.listed, one.description) for one in catalog.active] == [
        ("b", False, "Words"),
        ("c", True, ""),
        ("d", True, "Words"),
    ]
    assert {row.name: row.state for row in catalog.rows}["a"] is State.OFF


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Just text", "no 'name'"),
        ("---\nname: a\n---\nBody", "no 'description'"),
        ("---\nname: -a\ndescription: d\n---\nBody", "'-'"),
        ("---\nname: a:b\ndescription: d\n---\nBody", "':'"),
        ("---\n[: {\n---\nBody", "not YAML"),
        ("---\nname: a\ndescription: d\n---\n", "no prompt"),
    ],
)
def test_what_is_no_agent_says_why(text: str, reason: str) -> None:
    found = parse_agent(source(text, kind=Kind.AGENT))
    assert isinstance(found, Refused)
    assert reason in found.reason


def test_every_field_of_an_agent_is_read() -> None:
    text = (
        "---\nname: rev\ndescription: Reviews\ntools: Read, Bash(git diff *)\ndisallowedTools: [Write]\nmodel: haiku\n"
        "permissionMode: plan\nmaxTurns: 7\nskills: a, b\nmemory: project\nbackground: true\neffort: low\n"
        "isolation: worktree\ncolor: red\nhooks: {Stop: []}\n---\nPrompt"
    )
    found = parse_agent(source(text, "file-name", Kind.AGENT))
    assert not isinstance(found, Refused)
    assert (found.name, found.tools, found.denied_tools) == ("rev", ("Read", "Bash(git diff *)"), ("Write",))
    assert (found.model, found.mode, found.max_turns) == ("haiku", PermissionMode.PLAN, 7)
    assert (found.skills, found.memory, found.background, found.worktree) == (("a", "b"), "project", True, True)
    assert found.problems == ("'hooks' of an agent is not used; put it into the settings",)


@pytest.mark.parametrize("tools", ["", "tools:\n", "tools: '*'\n", "tools: []\n"])
def test_an_agent_without_a_list_of_tools_inherits_all(tools: str) -> None:
    found = parse_agent(source(f"---\nname: a\ndescription: d\n{tools}---\nPrompt", kind=Kind.AGENT))
    assert not isinstance(found, Refused)
    assert found.tools is None


def test_agents_of_the_command_line_stand_between_managed_and_project() -> None:
    text = "---\nname: rev\ndescription: d\n---\n"
    given = parse_given('{"rev": {"description": "given", "prompt": "Do", "tools": ["Read"], "background": true}}')
    files = [source(text + place, place=place, kind=Kind.AGENT) for place in (Place.USER, Place.PROJECT, Place.MANAGED)]
    rows = [row for row in settle_agents(files, given).rows if row.name == "rev"]
    assert [row.place for row in rows] == [Place.MANAGED, Place.GIVEN, Place.PROJECT, Place.USER]
    found = settle_agents((), given).find("rev")
    assert found is not None
    assert (found.prompt, found.tools, found.background) == ("Do", ("Read",), True)


def test_agents_that_are_no_json_object_are_refused_in_one_sentence() -> None:
    with pytest.raises(UsageError, match="--agents"):
        parse_given("[1]")


def test_the_nearest_style_of_a_name_counts_and_the_built_in_ones_last() -> None:
    near = source("---\nname: Concise\nkeep-coding-instructions: true\n---\nShort.", "file", Kind.STYLE)
    catalog = settle_styles([near, source("Far.", "Concise", Kind.STYLE)])
    found = catalog.find("Concise")
    assert found is not None
    assert (found.text, found.keeps_coding) == ("Short.", True)
    assert [row.state for row in catalog.rows if row.name == "Concise"] == [
        State.ACTIVE,
        State.SHADOWED,
        State.SHADOWED,
    ]


def test_an_empty_style_is_none() -> None:
    assert isinstance(parse_style(source("---\nname: x\n---\n", kind=Kind.STYLE)), Refused)
