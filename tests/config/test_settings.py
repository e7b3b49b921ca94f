"""All layers as one value: who wins, who is named, and what managed settings cannot lose."""

import functools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.config.keys import SETTINGS, key_at
from compositor.config.layer import PRECEDENCE, Layer, Level, parse_layer
from compositor.config.settings import KnownSettings, Settings, _overlay, _plant, merge_layers
from compositor.types.verdicts import RuleEffect


def layer(level: Level, value: dict[str, Any], file: str = "", **rest: Any) -> Layer:
    return parse_layer(
        json.dumps(value, indent=1).encode(), level=level, file=file or f"{level}.json", base="/b", **rest
    )


def merged(*layers: tuple[Level, dict[str, Any]]) -> Settings:
    return merge_layers([layer(level, value, f"{index}-{level}.json") for index, (level, value) in enumerate(layers)])


def test_without_files_the_defaults_hold() -> None:
    settings = merge_layers([])
    assert settings.model is None
    assert settings.cleanup_period_days == 30
    assert settings.include_git_instructions is True
    assert settings.always_thinking_enabled is True
    assert settings.compositor.resume_head == "replay"
    assert settings.values == {}


@pytest.mark.parametrize("winner", range(len(PRECEDENCE)))
def test_the_highest_level_wins_a_scalar(winner: int) -> None:
    present = PRECEDENCE[winner:]
    settings = merged(*((level, {"model": level.value}) for level in present))
    assert settings.model == PRECEDENCE[winner].value
    origin = settings.origin("model")
    assert origin is not None
    assert origin.level is PRECEDENCE[winner]
    assert origin.line == 2


def test_objects_merge_key_by_key() -> None:
    settings = merged(
        (Level.USER, {"attribution": {"commit": "user", "pr": "user"}}),
        (Level.PROJECT, {"attribution": {"pr": "project", "sessionUrl": True}}),
    )
    assert settings.values["attribution"] == {"commit": "user", "pr": "project", "sessionUrl": True}
    assert settings.origin("attribution", "commit").level is Level.USER  # type: ignore[union-attr]
    assert settings.origin("attribution", "pr").level is Level.PROJECT  # type: ignore[union-attr]


def test_arrays_are_put_one_after_the_other() -> None:
    settings = merged(
        (Level.PROJECT, {"claudeMdExcludes": ["p", "shared"]}),
        (Level.USER, {"claudeMdExcludes": ["u", "shared"]}),
    )
    assert settings.claude_md_excludes == ("u", "shared", "p", "shared")
    assert [origin.level for origin in settings.origins["claudeMdExcludes",]] == [Level.USER, Level.PROJECT]


def test_a_fallback_list_is_taken_whole_from_the_highest_level() -> None:
    settings = merged((Level.USER, {"fallbackModel": ["a", "b"]}), (Level.PROJECT, {"fallbackModel": ["c"]}))
    assert settings.fallback_model == ("c",)
    assert [origin.level for origin in settings.origins["fallbackModel",]] == [Level.PROJECT]


def test_available_models_add_up_until_managed_settings_replace_them() -> None:
    lower = ((Level.USER, {"availableModels": ["opus"]}), (Level.PROJECT, {"availableModels": ["haiku"]}))
    assert merged(*lower).available_models == ("opus", "haiku")
    managed = (Level.MANAGED, {"availableModels": ["sonnet"]})
    assert merged(*lower, managed).available_models == ("sonnet",)


def test_hooks_of_all_levels_add_up() -> None:
    settings = merged(
        (Level.USER, {"hooks": {"Stop": [{"u": 1}]}}),
        (Level.PROJECT, {"hooks": {"Stop": [{"p": 1}], "PreToolUse": [{"p": 2}]}}),
    )
    assert settings.values["hooks"] == {"Stop": [{"u": 1}, {"p": 1}], "PreToolUse": [{"p": 2}]}


def test_managed_drop_ins_replace_scalars_and_unite_lists() -> None:
    settings = merge_layers(
        [
            layer(Level.MANAGED, {"model": "opus", "permissions": {"deny": ["Bash", "WebFetch"]}}, "base.json"),
            layer(Level.MANAGED, {"model": "haiku", "permissions": {"deny": ["Bash", "Edit"]}}, "10.json"),
        ]
    )
    assert settings.model == "haiku"
    assert settings.permissions.deny == ("Bash", "WebFetch", "Edit")


def test_rules_of_all_levels_stand_with_their_place() -> None:
    settings = merge_layers(
        [
            layer(Level.USER, {"permissions": {"allow": ["Read"]}}, "u.json"),
            layer(Level.PROJECT, {"permissions": {"deny": ["Bash(rm *)"]}}, "p.json", shared=True),
        ]
    )
    rows = [
        (rule.effect, rule.text, rule.level, rule.file, rule.line, rule.base, rule.shared) for rule in settings.rules()
    ]
    assert rows == [
        (RuleEffect.DENY, "Bash(rm *)", Level.PROJECT, "p.json", 4, "/b", True),
        (RuleEffect.ALLOW, "Read", Level.USER, "u.json", 4, "/b", False),
    ]


def test_two_shapes_of_one_unknown_key_do_not_mix() -> None:
    settings = merged((Level.USER, {"futureKey": ["a"]}), (Level.PROJECT, {"futureKey": {"b": 1}}))
    assert settings.values["futureKey"] == {"b": 1}


def test_the_printed_form_holds_no_values() -> None:
    settings = merged((Level.USER, {"env": {"KEY": "sk-secret"}, "model": "opus"}))
    assert "sk-secret" not in repr(settings)
    assert "'env'" in repr(settings)


def test_every_typed_field_has_a_row_in_the_table_of_keys() -> None:
    for name in KnownSettings.__struct_encode_fields__:
        assert name in SETTINGS, name
    for struct, parent in ((KnownSettings().permissions, "permissions"), (KnownSettings().compositor, "compositor")):
        for name in struct.__struct_encode_fields__:
            assert key_at((parent, name)) is not None, name


# Values of one shape a key, as the merge rules speak of levels that agree on shapes.
_words = st.sampled_from(["a", "b", "c"])
_documents = st.fixed_dictionaries(
    {},
    optional={
        "model": _words,
        "language": _words,
        "claudeMdExcludes": st.lists(_words, max_size=3),
        "fallbackModel": st.lists(_words, max_size=3),
        "availableModels": st.lists(_words, max_size=3),
        "permissions": st.fixed_dictionaries(
            {},
            optional={
                "deny": st.lists(_words, max_size=3),
                "allow": st.lists(_words, max_size=3),
                "defaultMode": st.sampled_from(["plan", "default"]),
            },
        ),
        "futureKey": st.dictionaries(_words, _words, max_size=2),
    },
)
_layers = st.lists(st.tuples(st.sampled_from(list(Level)), _documents), max_size=6)


def _numbered(drawn: Iterable[tuple[Level, dict[str, Any]]]) -> list[Layer]:
    return [layer(level, value, f"{index}-{level}.json") for index, (level, value) in enumerate(drawn)]


@given(_layers)
def test_merging_is_associative(drawn: list[tuple[Level, dict[str, Any]]]) -> None:
    ordered = sorted(_numbered(drawn), key=lambda one: -PRECEDENCE.index(one.level))
    trees = [_plant(one) for one in ordered]
    from_the_left = functools.reduce(_overlay, trees, {})
    from_the_right = functools.reduce(lambda higher, lower: _overlay(lower, higher), reversed(trees), {})
    assert from_the_left == from_the_right


@given(_layers)
def test_the_order_in_which_levels_are_read_does_not_matter(drawn: list[tuple[Level, dict[str, Any]]]) -> None:
    one_each = list({level: (level, value) for level, value in drawn}.values())
    layers = _numbered(one_each)
    assert merge_layers(layers).values == merge_layers(list(reversed(layers))).values


@given(_layers)
def test_an_origin_always_names_the_layer_that_wins(drawn: list[tuple[Level, dict[str, Any]]]) -> None:
    layers = _numbered(drawn)
    settings = merge_layers(layers)
    by_file = {one.file: one for one in layers}
    for keys, origins in settings.origins.items():
        value: Any = settings.values
        for key in keys:
            value = value[key]
        written = [_at(by_file[origin.file], keys) for origin in origins]
        if isinstance(value, list):
            assert [item for part in written for item in part if item in value] != [] or value == []
            assert set(value) == {item for part in written for item in part}
        else:
            assert written == [value]
            holders = [one for one in layers if _at(one, keys) is not None]
            best = min(PRECEDENCE.index(one.level) for one in holders)
            assert PRECEDENCE.index(origins[-1].level) == best


@given(_layers, st.lists(_words, min_size=1, max_size=3), _words)
@pytest.mark.req("R372")
def test_no_lower_level_removes_a_managed_entry(
    drawn: list[tuple[Level, dict[str, Any]]], denied: list[str], model: str
) -> None:
    managed = layer(Level.MANAGED, {"permissions": {"deny": denied}, "model": model}, "policy.json")
    lower = _numbered((level, value) for level, value in drawn if level is not Level.MANAGED)
    settings = merge_layers([managed, *lower])
    assert set(denied) <= set(settings.permissions.deny)
    assert settings.model == model
    assert {rule.text for rule in settings.rules() if rule.level is Level.MANAGED} == set(denied)


@given(_layers)
@pytest.mark.req("R372")
def test_deny_rules_of_every_level_count(drawn: list[tuple[Level, dict[str, Any]]]) -> None:
    settings = merge_layers(_numbered(drawn))
    written = {rule for _, value in drawn for rule in value.get("permissions", {}).get("deny", ())}
    assert set(settings.permissions.deny) == written


def _at(one: Layer, keys: tuple[str, ...]) -> Any:
    value: Any = one.values
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
