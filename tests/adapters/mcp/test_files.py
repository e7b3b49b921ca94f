"""Where servers are configured: levels, own files, approvals, and files that are damaged or missing."""

import json

import pytest

from compositor.adapters.mcp.files import (
    add_approval,
    load_servers,
    own_file,
    read_approvals,
    read_own,
    write_own,
)
from compositor.adapters.settings_files import SettingsPlaces
from compositor.errors import ConfigError
from compositor.types.servers import ServerScope


@pytest.fixture
def places(tmp_path):
    (tmp_path / "project").mkdir()
    return SettingsPlaces(
        cwd=str(tmp_path / "project"),
        managed=(str(tmp_path / "managed"),),
        user=None,
        root=str(tmp_path / "project"),
    )


def put(path, servers, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers, **more}))


def found(places, tmp_path, **more):
    loaded = load_servers(places, tmp_path / "state", {"HOME": str(tmp_path / "home")}, **more)
    return [(entry.name, entry.scope) for entry in loaded.entries], loaded.diagnostics


def test_every_level_is_read(places, tmp_path):
    project = places.cwd
    put(tmp_path / "home" / ".claude.json", {"u": {}}, projects={project: {"mcpServers": {"l": {}}}})
    put(own_file(tmp_path / "state"), {"own": {}})
    put(tmp_path / "project" / ".mcp.json", {"p": {}})
    entries, _ = found(places, tmp_path, given=('{"mcpServers": {"f": {}}}',))
    assert entries == [
        ("f", ServerScope.FLAG),
        ("l", ServerScope.LOCAL),
        ("p", ServerScope.PROJECT),
        ("own", ServerScope.USER),
        ("u", ServerScope.USER),
    ]
    assert found(places, tmp_path, given=('{"mcpServers": {"f": {}}}',), strict=True)[0] == [("f", ServerScope.FLAG)]
    assert found(places, tmp_path, sources=("project",))[0] == [("p", ServerScope.PROJECT)]


def test_a_managed_file_is_the_only_source_even_when_it_is_empty(places, tmp_path):
    put(tmp_path / "project" / ".mcp.json", {"p": {}})
    put(tmp_path / "managed" / "managed-mcp.json", {})
    assert found(places, tmp_path, given=('{"mcpServers": {"f": {}}}',)) == ([], ())


def test_a_damaged_file_costs_itself_and_a_named_one_must_exist(places, tmp_path):
    (tmp_path / "project" / ".mcp.json").write_text("{,}")
    put(own_file(tmp_path / "state"), {"own": {}})
    entries, notes = found(places, tmp_path)
    assert entries == [("own", ServerScope.USER)]
    assert [note.code for note in notes] == ["mcp.file"]
    with pytest.raises(ConfigError, match="does not exist"):
        found(places, tmp_path, given=("nowhere.json",))


def test_own_files_are_private_and_approvals_add_up(tmp_path):
    home = tmp_path / "state"
    write_own(own_file(home), {"mcpServers": {}})
    assert own_file(home).stat().st_mode & 0o077 == 0
    add_approval(home, "/p", "one")
    add_approval(home, "/p", "two")
    assert read_approvals(home, "/p") == {"one", "two"}
    assert read_approvals(home, "/q") == frozenset()
    own_file(home).write_text("[")
    with pytest.raises(ConfigError, match="no JSON"):
        read_own(own_file(home))
