"""The bypass corpus: what is denied never runs, however it is written; what a rule names and is harmless never asks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compositor.types.verdicts import PermissionMode
from tests.policy.judge import judge, make_call, make_policy, make_rules

CORPUS = Path(__file__).with_name("corpus")
DENY = (
    *("Bash(rm *)", "Bash(cat *)", "Bash(curl *)", "Bash(git push *)", "Bash(sudo *)"),
    *("Read(./foo.txt)", "Read(.env)", "Read(~/.ssh/**)", "Edit(locked/**)"),
)
FREEST = make_policy(*make_rules(deny=DENY, allow=("Bash", "Edit", "Read")), mode=PermissionMode.BYPASS)
LINKS = {
    **{f"/proc/{name}/cwd": "/home/u/proj" for name in ("self", "42")},
    "/home/u/proj/to-ssh": "/home/u/.ssh",
    "/home/u/proj/to-env": "/home/u/proj/.env",
}


def lines(name: str) -> Iterator[str]:
    for line in (CORPUS / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# C") and not line.startswith("# H") and not line.startswith("# R"):
            yield line.replace("\\n", "\n").replace("\\t", "\t")


def allowed() -> Iterator[tuple[str, tuple[str, ...]]]:
    rules: tuple[str, ...] = ()
    for line in lines("allowed_lines.txt"):
        if line.startswith("== "):
            rules = ()
        elif line.startswith("allow: "):
            rules = (*rules, line.removeprefix("allow: "))
        else:
            yield line, rules


DENIED = tuple(lines("denied_lines.txt"))
ALLOWED = tuple(allowed())
PATHS = tuple(lines("denied_paths.txt"))


@pytest.mark.req("R363", "R372")
@pytest.mark.parametrize("line", DENIED)
def test_nothing_denied_gets_through(line: str) -> None:
    assert judge(make_call("Bash", command=line), FREEST) != "allow"


@pytest.mark.req("R368")
@pytest.mark.parametrize(("line", "rules"), ALLOWED)
def test_what_a_rule_names_does_not_ask(line: str, rules: tuple[str, ...]) -> None:
    assert judge(make_call("Bash", command=line), make_policy(*make_rules(allow=rules))) == "allow"


@pytest.mark.req("R368")
@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'push it later, rm the rest'",
        "git log --format='%h (%s)'",
        "awk '{print $1}' a",
        "python3 -c 'print(1)'",
        "tar xf a.tar -C src",
        "npm test -- --run",
        "uv run pytest -q",
        "docker run --rm x ls",
        "make CFLAGS='-O2 -g'",
        "node -e 'console.log(1)'",
        "sort a",
        "sed -n 's/a/b/p' docs/s/a/b/file",
        "sed -i 's/one/the/g' a",
        "git checkout main",
        "printf '%s' 'a[1]'",
        "npx tsc -p .",
        "vim a",
    ],
)
def test_no_deny_rule_reaches_what_it_does_not_speak_of(line: str) -> None:
    rules = make_rules(deny=DENY[:5], allow=("Bash",))
    assert judge(make_call("Bash", command=line), make_policy(*rules, mode=PermissionMode.BYPASS)) == "allow"


@pytest.mark.req("R363")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write"])
def test_no_spelling_of_a_denied_path_gets_through(tool: str, path: str) -> None:
    policy = make_policy(*FREEST.rules, mode=PermissionMode.BYPASS, ignore_case=True)
    assert judge(make_call(tool, file_path=path), policy, LINKS) == "deny"


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(set(DENIED)) >= 300
    assert len({line for line, _ in ALLOWED}) >= 200
    assert len(set(PATHS)) >= 100
