"""The lock files say what to install and never from where, hold the declared dependencies, and agree with each other."""

import re
import tomllib

import pytest

from tests.house.tree import ROOT

LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "requirements").glob("*.txt"))}
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


def test_the_locks_the_makefile_asks_for_are_there() -> None:
    assert set(LOCKS) >= {"run", "dev", "edges"}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_no_address(name: str) -> None:
    suspicious = [
        line
        for line in LOCKS[name].splitlines()
        if "://" in line
        or " @ " in line
        or (line.lstrip().startswith(("-", "#")) and not line.startswith("    --hash="))
    ]
    assert suspicious == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_hash(name: str) -> None:
    entries = re.split(r"\n(?=\S)", LOCKS[name].strip())
    assert [entry.split()[0] for entry in entries if not PIN.match(entry) or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("name", sorted(set(LOCKS) - {"run"}))
def test_a_larger_lock_only_adds_to_the_run_lock(name: str) -> None:
    run, larger = pins("run"), pins(name)
    assert {package: version for package, version in run.items() if larger.get(package) != version} == {}


def test_the_run_lock_holds_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    names = {re.split(r"[\[<>=!~; ]", line)[0].lower() for line in declared}
    assert names - set(pins("run")) == set()


def pins(name: str) -> dict[str, str]:
    return dict(PIN.findall(LOCKS[name]))
