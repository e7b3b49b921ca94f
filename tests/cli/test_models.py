"""The command `compositor models`: every model and platform, one model with its sources, JSON, and what settings changed."""

import json

import pytest

from compositor.cli.main import cli, run_command
from compositor.config.platforms import known_platforms
from compositor.config.profile import known_profiles


def run(capsys, *arguments):
    code = run_command(cli, ["models", *arguments])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


def test_every_model_has_a_line_and_doubts_have_a_star(capsys):
    lines = run(capsys).splitlines()
    for profile in known_profiles():
        (line,) = [line for line in lines if line.split()[:1] == [profile.id]]
        assert (" * " in line) is not profile.verified
    assert "Default: claude-sonnet-5-5" in "\n".join(lines)


def test_one_model_shows_every_fact_with_its_source(capsys):
    text = run(capsys, "opus")
    assert text.startswith("claude-opus-5-5   Claude Opus 5.5")
    assert "official model pages, October and November 2026" in text
    assert "claude-api turn_scoped" in text
    assert "read 0.2" in text
    assert "not published" in run(capsys, "claude-fable-5-2")


def test_platforms(capsys):
    text = run(capsys, "--platforms")
    assert all(platform.id in text for platform in known_platforms())


def test_json_holds_everything(capsys):
    document = json.loads(run(capsys, "--json"))
    assert {profile["id"] for profile in document["models"]} == {profile.id for profile in known_profiles()}
    assert document["aliases"]["opus"] == "claude-opus-5-5"
    assert document["window_steps"][0] == "environment override"
    one = json.loads(run(capsys, "claude-opus-4-6", "--json"))
    assert (one["profile"]["cache_minimum"], one["price"]["tiers"][0]["read"]) == (4096, 0.5)
    assert one["append"]["claude-api"] == "user_text"


@pytest.mark.req("R380")
def test_settings_change_a_fact_and_the_table_marks_it(capsys, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    facts = {"claude-opus-4-5": {"window": 500_000}, "house-model": {"window": 64_000, "max_output": 8_000}}
    (home / ".claude" / "settings.json").write_text(json.dumps({"compositor": {"models": facts}}), encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    lines = run(capsys, "--project", str(tmp_path)).splitlines()
    (changed,) = [line for line in lines if line.startswith("claude-opus-4-5")]
    assert "+" in changed
    assert "500k" in changed
    assert any(line.startswith("house-model * +") and "64k" in line for line in lines)
