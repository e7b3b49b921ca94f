"""Settings and variables about instruction files and notes: who may say what."""

from typing import Any

import msgspec
import pytest

from compositor.config.layer import Level, parse_layer
from compositor.config.memory_choices import Keeping, MemoryChoices, choose_memory
from compositor.config.settings import Settings, merge_layers
from compositor.config.trust import Trust


def settings(**levels: dict[str, Any]) -> Settings:
    return merge_layers(
        parse_layer(
            msgspec.json.encode(values), level=Level(name), file=f"/{name}.json", base="/", shared=name == "project"
        )
        for name, values in levels.items()
    )


def choose(
    trust: Trust = Trust.UNTRUSTED, variables: dict[str, str] | None = None, **levels: dict[str, Any]
) -> MemoryChoices:
    return choose_memory(settings(**levels), variables or {}, trust)


def test_defaults() -> None:
    assert choose() == MemoryChoices()


@pytest.mark.parametrize(
    ("variable", "field", "expected"),
    [
        ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "reads_instructions", False),
        ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "reads_additional", True),
    ],
)
def test_variables_switch(variable: str, field: str, *, expected: bool) -> None:
    assert getattr(choose(variables={variable: "1"}), field) is expected
    assert getattr(choose(variables={variable: "0"}), field) is not expected


@pytest.mark.req("R114")
def test_instructions_of_managed_settings_are_named_by_their_file() -> None:
    found = choose(managed={"claudeMd": "No force pushes."}, user={"claudeMdExcludes": ["/x"]})
    assert found.managed_texts == (("/managed.json#claudeMd", "No force pushes."),)
    assert found.excludes == ("/x",)


@pytest.mark.parametrize(
    ("setting", "variable", "expected"),
    [
        (None, None, Keeping.AS_FOUND),
        (True, None, Keeping.ON),
        (False, None, Keeping.OFF),
        (True, "1", Keeping.OFF),
        (False, "0", Keeping.ON),
        (None, "1", Keeping.OFF),
    ],
)
def test_automatic_memory(setting: bool | None, variable: str | None, expected: Keeping) -> None:
    user = {} if setting is None else {"autoMemoryEnabled": setting}
    variables = {} if variable is None else {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": variable}
    assert choose(variables=variables, user=user).keeping is expected


def test_a_repository_moves_automatic_memory_only_with_trust() -> None:
    levels = {"project": {"autoMemoryDirectory": "/evil"}, "user": {"autoMemoryDirectory": "~/mine"}}
    found = choose(**levels)
    assert found.automatic is not None
    assert found.automatic.path == "~/mine"
    assert [note.code for note in found.diagnostics] == ["memory.directory"]
    trusted = choose(Trust.TRUSTED, **levels)
    assert trusted.automatic is not None
    assert trusted.automatic.path == "/evil"


def test_a_relative_folder_of_automatic_memory_is_not_used() -> None:
    found = choose(user={"autoMemoryDirectory": "notes"})
    assert found.automatic is None
    assert "neither absolute" in found.diagnostics[0].message


@pytest.mark.req("R420")
@pytest.mark.parametrize(
    ("level", "trust", "contained"),
    [
        ("user", Trust.UNTRUSTED, False),
        ("managed", Trust.UNTRUSTED, False),
        ("project", Trust.UNTRUSTED, True),
        ("project", Trust.TRUSTED, False),
    ],
)
def test_team_notes_of_an_untrusted_repository_are_contained(level: str, trust: Trust, *, contained: bool) -> None:
    found = choose(trust, **{level: {"compositor": {"teamMemoryDirectory": "docs/team", "agentsMd": False}}})
    assert found.team is not None
    assert (found.team.path, found.team.contained) == ("docs/team", contained)
    assert not found.reads_agents_md
