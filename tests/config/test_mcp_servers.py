"""Which servers a session starts: precedence, expansion, approval, allowed and denied lists, and entries that are none."""

import json

import pytest

from compositor.config.layer import Level, parse_layer
from compositor.config.mcp_servers import Approvals, ServerChoice, choose_servers, expand, parse_servers
from compositor.config.settings import merge_layers
from compositor.config.trust import Trust
from compositor.types.servers import ServerScope, ServerTransport

PROJECT = ServerScope.PROJECT


def entries(servers, scope=ServerScope.USER, file="servers.json"):
    found, notes = parse_servers(json.dumps({"mcpServers": servers}).encode(), scope=scope, file=file)
    assert not notes
    return found


def settings(*layers):
    return merge_layers(
        parse_layer(json.dumps(values).encode(), level=level, file=f"{level.value}.json", base="/p", shared=shared)
        for level, values, shared in layers
    )


def choose(found, *layers, variables=None, **approvals) -> ServerChoice:
    return choose_servers(found, settings(*layers), variables or {}, Approvals(**approvals))


def names(choice):
    return [server.name for server in choice.servers]


def test_the_whole_entry_of_the_highest_scope_wins():
    found = (
        *entries({"a": {"command": "user", "env": {"X": "1"}}, "b": {"command": "b"}}),
        *entries({"a": {"command": "local"}}, ServerScope.LOCAL),
        *entries({"a": {"command": "flag"}}, ServerScope.FLAG),
    )
    choice = choose(found)
    assert [(server.name, server.command, dict(server.env)) for server in choice.servers] == [
        ("a", "flag", {}),
        ("b", "b", {}),
    ]


def test_variables_are_filled_in_and_unset_ones_stay_with_a_remark():
    found = entries(
        {
            "a": {
                "command": "${BIN}/run",
                "args": ["${PORT:-80}", "${NONE}"],
                "env": {"T": "${TOKEN}"},
            }
        }
    )
    choice = choose(found, variables={"BIN": "/opt", "TOKEN": "secret"})
    (server,) = choice.servers
    assert (server.command, server.args, dict(server.env)) == ("/opt/run", ("80", "${NONE}"), {"T": "secret"})
    assert [note.code for note in choice.diagnostics] == ["mcp.variable"]
    assert "secret" not in repr(server)
    assert expand("$X ${}", {"X": "1"}) == ("$X ${}", ())


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"url": "https://x"}, "without a type"),
        ({"type": "ws", "url": "wss://x"}, "not one of stdio, http, sse"),
        ({"type": "http"}, "needs a 'url'"),
        ({"args": []}, "not one of"),
        ({"command": ""}, "needs a 'command'"),
        ({"type": "sdk", "name": "a"}, "which alone can name it"),
    ],
)
def test_an_entry_that_is_no_server_is_refused_with_the_reason(entry, reason):
    choice = choose(entries({"a": entry, "good": {"command": "x"}}))
    assert names(choice) == ["good"]
    assert reason in choice.refused[0].reason


def test_reserved_names_are_refused():
    assert not choose(entries({"workspace": {"command": "x"}})).servers


def test_http_servers_keep_their_headers_and_time_limit():
    found = entries(
        {"a": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}, "timeout": 1500, "alwaysLoad": True}}
    )
    (server,) = choose(found).servers
    assert server.transport is ServerTransport.HTTP
    assert (server.url, dict(server.headers), server.timeout, server.always_load) == (
        "https://h/mcp",
        {"A": "b"},
        1.5,
        True,
    )


def test_a_repository_s_server_waits_for_an_approval():
    found = entries({"a": {"command": "x"}}, PROJECT)
    waiting = choose(found)
    assert not waiting.servers
    assert waiting.refused[0].pending
    assert names(choose(found, digests=frozenset({waiting.refused[0].digest}))) == ["a"]
    changed = entries({"a": {"command": "y"}}, PROJECT)
    assert not choose(changed, digests=frozenset({waiting.refused[0].digest})).servers
    assert names(choose(found, trust=Trust.TRUSTED)) == ["a"]
    assert not choose(found, trust=Trust.TRUSTED, interactive=True).servers


@pytest.mark.parametrize(
    ("values", "level", "shared", "trust", "starts"),
    [
        ({"enabledMcpjsonServers": ["a"]}, Level.USER, False, Trust.UNTRUSTED, True),
        ({"enableAllProjectMcpServers": True}, Level.LOCAL, False, Trust.UNTRUSTED, True),
        ({"enabledMcpjsonServers": ["other"]}, Level.USER, False, Trust.UNTRUSTED, False),
        ({"enabledMcpjsonServers": ["a"]}, Level.PROJECT, True, Trust.UNTRUSTED, False),
        ({"enabledMcpjsonServers": ["a"]}, Level.PROJECT, True, Trust.TRUSTED, True),
    ],
)
def test_settings_approve_but_not_those_that_came_with_an_untrusted_repository(values, level, shared, trust, starts):
    choice = choose(entries({"a": {"command": "x"}}, PROJECT), (level, values, shared), trust=trust, interactive=True)
    assert bool(choice.servers) is starts


def test_a_rejection_of_any_file_wins():
    found = entries({"a": {"command": "x"}}, PROJECT)
    choice = choose(
        found,
        (Level.USER, {"enableAllProjectMcpServers": True}, False),
        (Level.PROJECT, {"disabledMcpjsonServers": ["a"]}, True),
    )
    assert not choice.servers
    assert not choice.refused[0].pending


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"deniedMcpServers": [{"serverName": "a"}]}, ["b", "c"]),
        ({"deniedMcpServers": [{"serverCommand": ["x", "1"]}]}, ["b", "c"]),
        ({"deniedMcpServers": [{"serverUrl": "https://*.example/*"}]}, ["a", "b"]),
        ({"allowedMcpServers": [{"serverName": "b"}]}, ["b"]),
        ({"allowedMcpServers": []}, []),
    ],
)
def test_lists_of_allowed_and_denied_servers(values, kept):
    found = entries(
        {
            "a": {"command": "x", "args": ["1"]},
            "b": {"command": "y"},
            "c": {"type": "http", "url": "https://h.example/mcp"},
        }
    )
    assert names(choose(found, (Level.USER, values, False))) == kept


def test_a_damaged_file_costs_itself_and_a_project_s_own_servers_are_found():
    found, notes = parse_servers(b"{", scope=ServerScope.USER, file="x.json")
    assert not found
    assert notes[0].where == "x.json"
    data = json.dumps({"projects": {"/p": {"mcpServers": {"a": {"command": "x"}, "b": 1}}}}).encode()
    found, notes = parse_servers(data, scope=ServerScope.LOCAL, file="x.json", project="/p")
    assert [entry.name for entry in found] == ["a"]
    assert "'b' is no JSON object" in notes[0].message
