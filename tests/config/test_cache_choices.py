"""The table `compositor.cache`: what it says, and that nothing in it can stop a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compositor.config.cache_choices import CacheSettings, EditSettings, edits_body
from compositor.config.layer import Level, parse_layer
from compositor.config.settings import Settings, merge_layers
from compositor.types.json import decode_json


def read(cache: Any) -> Settings:
    data = json.dumps({"compositor": {"cache": cache}}).encode()
    return merge_layers([parse_layer(data, level=Level.USER, file="u.json", base="/b")])


@pytest.mark.parametrize(
    ("cache", "meant"),
    [
        ({}, CacheSettings()),
        (
            {"prefix": "ask", "expired": "clean", "keepResults": 2},
            CacheSettings(prefix="ask", expired="clean", keep_results=2),
        ),
        ({"prefix": "maybe"}, CacheSettings()),
        ({"edits": {}}, CacheSettings(edits=EditSettings())),
        ({"edits": {"trigger": 0, "keep": 1}}, CacheSettings(edits=EditSettings(keep=1))),
        ({"longLifetime": []}, CacheSettings(long_lifetime=())),
        ({"longLifetime": 7}, CacheSettings()),
        (7, CacheSettings()),
    ],
)
def test_what_is_wrong_is_left_out_with_a_word_and_the_rest_counts(cache: Any, meant: CacheSettings) -> None:
    found = read(cache)
    assert found.compositor.cache == meant


def test_a_wrong_value_is_told() -> None:
    found = read({"prefix": "maybe"})
    assert any("prefix" in str(note) for note in found.diagnostics)


@pytest.mark.req("R272", "R273")
def test_edits_become_the_field_of_the_wire() -> None:
    assert edits_body(None) is None
    body = edits_body(EditSettings(trigger=9, keep=1, clear_at_least=5, exclude_tools=("Bash",)))
    assert body is not None
    assert decode_json(bytes(body)) == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 9},
                "keep": {"type": "tool_uses", "value": 1},
                "clear_at_least": {"type": "input_tokens", "value": 5},
                "exclude_tools": ["Bash"],
            }
        ]
    }
