"""One file as a layer: which entries count, which are reported, and where."""

import json
from typing import Any

import pytest

from compositor.config.keys import SETTINGS, ListOf, MapOf, Scope, Table, key_at
from compositor.config.layer import PRECEDENCE, Level, parse_layer
from compositor.errors import SettingsError
from compositor.types.diagnostics import Severity


def layer(value: dict[str, Any] | bytes, level: Level = Level.USER) -> Any:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_layer(data, level=level, file="s.json", base="/base")


def test_levels_stand_in_the_documented_order() -> None:
    assert [level.value for level in PRECEDENCE] == ["managed", "cli", "local", "project", "user"]


def test_a_bad_entry_costs_only_itself() -> None:
    found = layer(
        b'{\n"model": 7,\n"permissions": {"allow": ["Read", 5, "Edit"], "ask": "Bash"},\n'
        b'"env": {"A": "1", "B": 2},\n"cleanupPeriodDays": 30}'
    )
    assert found.values == {
        "permissions": {"allow": ["Read", "Edit"]},
        "env": {"A": "1"},
        "cleanupPeriodDays": 30,
    }
    assert [(note.where, note.code) for note in found.diagnostics] == [
        ("s.json:2:1", "settings.bad-entry"),
        ("s.json:3:35", "settings.bad-entry"),
        ("s.json:3:47", "settings.bad-entry"),
        ("s.json:4:19", "settings.bad-entry"),
    ]
    assert "'permissions.allow[1]'" in found.diagnostics[1].message


def test_lines_follow_the_items_that_are_kept() -> None:
    found = layer(b'{"permissions": {"allow": [\n5,\n"Read",\n"Edit"]}}')
    assert found.lines["permissions", "allow", 0] == 3
    assert found.lines["permissions", "allow", 1] == 4


def test_unknown_keys_are_kept_and_reported_as_information() -> None:
    found = layer({"futureKey": {"deep": [1]}, "permissions": {"futureList": ["x"]}})
    assert found.values == {"futureKey": {"deep": [1]}, "permissions": {"futureList": ["x"]}}
    assert {note.code for note in found.diagnostics} == {"settings.unknown-key"}
    assert {note.severity for note in found.diagnostics} == {Severity.INFO}


def test_a_key_that_stands_twice_is_reported() -> None:
    found = layer(b'{"model": "opus", "model": "haiku"}')
    assert found.values == {"model": "haiku"}
    assert [note.code for note in found.diagnostics] == ["settings.duplicate-key"]


@pytest.mark.parametrize("level", [Level.PROJECT, Level.LOCAL])
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"askUserQuestionTimeout": "60s"}, {}),
        ({"autoMode": {}}, {}),
        ({"claudeMd": "text"}, {}),
        ({"allowManagedPermissionRulesOnly": False}, {}),
        (
            {"sandbox": {"enabled": True, "filesystem": {"disabled": True}}},
            {"sandbox": {"enabled": True, "filesystem": {}}},
        ),
        ({"compositor": {"platform": "gateway", "minimal": True}}, {"compositor": {"minimal": True}}),
    ],
)
def test_a_repository_cannot_set_what_belongs_to_the_user(
    level: Level, value: dict[str, Any], kept: dict[str, Any]
) -> None:
    found = layer(value, level)
    assert found.values == kept
    assert [note.code for note in found.diagnostics] == ["settings.scope"]


@pytest.mark.parametrize("level", [Level.USER, Level.CLI])
def test_the_user_sets_user_keys_and_not_managed_ones(level: Level) -> None:
    found = layer({"askUserQuestionTimeout": "60s", "allowManagedHooksOnly": True}, level)
    assert found.values == {"askUserQuestionTimeout": "60s"}
    assert [note.code for note in found.diagnostics] == ["settings.scope"]


def test_managed_settings_set_everything() -> None:
    value = {"askUserQuestionTimeout": "60s", "allowManagedHooksOnly": True, "claudeMd": "text"}
    found = layer(value, Level.MANAGED)
    assert (found.values, found.diagnostics) == (value, ())


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{"permissions": {"deny": ["Bash",\n 7]}}', "s.json:2:2"),
        (b'{"permissions": {"deny": "Bash"}}', "s.json:1:18"),
        (b'{"permissions": []}', "s.json:1:2"),
        (b'{"model": null}', "s.json:1:2"),
    ],
)
@pytest.mark.req("R372")
def test_a_managed_entry_of_the_wrong_type_stops_the_run(data: bytes, where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        layer(data, Level.MANAGED)
    assert caught.value.where == where
    assert caught.value.key


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("cleanupPeriodDays", [1, 30], [0, -1, 1.5, True, "30"]),
        ("autoCompactWindow", [100_000, 1_000_000], [99_999, 1_000_001]),
        ("skillListingBudgetFraction", [0.01, 1], [0, 1.1, True]),
        ("effortLevel", ["low", "medium", "high", "xhigh", "max"], ["auto", "HIGH", 3]),
        ("includeGitInstructions", [True, False], [0, "true", None]),
        ("skillOverrides", [{"a": "on"}, {"a": "name-only"}, {"a": "user-invocable-only"}, {"a": "off"}], [[]]),
        ("promptCacheTtl", ["5m", "1h"], ["10m"]),
        ("askUserQuestionTimeout", ["60s", "5m", "10m"], ["1h"]),
    ],
)
def test_values_of_documented_keys(key: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert layer({key: value}).values == {key: value}
    for value in bad:
        found = layer({key: value})
        assert found.values == {}
        assert [note.code for note in found.diagnostics] == ["settings.bad-entry"]


def test_values_that_may_be_secrets_are_never_repeated() -> None:
    found = layer({"env": {"TOKEN": ["sk-very-secret"]}, "apiKeyHelper": {"x": "sk-very-secret"}})
    assert "sk-very-secret" not in repr(found.diagnostics)
    assert "sk-very-secret" not in repr(layer({"env": {"TOKEN": "sk-very-secret"}}))


def test_the_table_of_keys_is_in_alphabetical_order_and_complete() -> None:
    names = [name for name in SETTINGS if name != "$schema"]
    assert names == sorted(names, key=str.lower) or names == sorted(names)
    for name, key in SETTINGS.items():
        assert key.note, name


def test_rows_are_found_by_their_way() -> None:
    assert key_at(("permissions", "deny")) is not None
    assert isinstance(key_at(("permissions",)).shape, Table)  # type: ignore[union-attr]
    assert isinstance(key_at(("env",)).shape, MapOf)  # type: ignore[union-attr]
    assert isinstance(key_at(("fallbackModel",)).shape, ListOf)  # type: ignore[union-attr]
    assert key_at(("permissions", "nothing")) is None
    assert key_at(("env", "ANY")) is None
    assert key_at(("sandbox", "filesystem", "disabled")).scope is Scope.USER  # type: ignore[union-attr]
