"""Real projects through the program: `compile` over each tree of the corpus, each in a folder of its own outside any repository."""

import hashlib
import itertools
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from compositor.cli.check import Choices, Found, circumstances
from compositor.context.messages.legality import check_body
from tests.cli.program import Ended, run_program

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "projects"
pytestmark = pytest.mark.corpus

TREES = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())
PROMPT = "Describe this project."
SECRETS = {
    "ANTHROPIC_API_KEY": "sk-planted-key",
    "ANTHROPIC_AUTH_TOKEN": "sk-planted-token",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Team: sk-planted-header",
}
# The largest, one with rules and many folders, one with a local file.
REPEATED = ("2anki+server", "cloudflare+agents", "teslamint+entirecontext")
PROCESSES = 20


def copied(tree: str, target: Path, seed: int | None = None) -> Path:
    """A copy of a tree whose files came into being in an order of their own."""
    files = sorted(path for path in (CORPUS / tree).rglob("*") if path.is_symlink() or path.is_file())
    if seed is not None:
        random.Random(seed).shuffle(files)
    for file in files:
        place = target / file.relative_to(CORPUS / tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place, follow_symlinks=False)
    return target


def compiled(form: str, project: Path, home: Path, **changes: str) -> Ended:
    home.mkdir(exist_ok=True)
    return run_program("compile", PROMPT, form, cwd=project, home=home, **changes)


@pytest.fixture(scope="module", params=TREES)
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended, Ended]:
    """One tree: its folder, and what `--json` and `--body` gave, with keys in the environment."""
    folder = tmp_path_factory.mktemp("tree")
    project = copied(request.param, folder / "project")
    forms = [compiled(form, project, folder / "home", **SECRETS) for form in ("--json", "--body")]
    return project, forms[0], forms[1]


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first system block of an empty project."""
    project = tmp_path_factory.mktemp("empty")
    ended = compiled("--body", project, tmp_path_factory.mktemp("home"))
    first = json.loads(ended.out)["system"][0]
    assert first["cache_control"]
    return str(first["text"])


def test_the_corpus_is_there() -> None:
    assert len(TREES) >= 20
    assert set(REPEATED) <= set(TREES)


def test_it_compiles_and_both_forms_agree(tree: tuple[Path, Ended, Ended]) -> None:
    _, whole, body = tree
    assert (whole.code, whole.err, body.code, body.err) == (0, "", 0, "")
    found, data = json.loads(whole.out), body.out.encode()
    assert found["body"] == json.loads(data)
    assert found["body_sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.req("R015")
def test_the_spans_tile_the_body(tree: tuple[Path, Ended, Ended]) -> None:
    project, whole, body = tree
    spans = json.loads(whole.out)["spans"]
    assert (spans[0]["start"], spans[-1]["end"]) == (0, len(body.out.encode()))
    assert all(one["end"] == two["start"] for one, two in itertools.pairwise(spans))
    assert all(span["start"] < span["end"] and span["source"]["kind"] and span["gate"] for span in spans)
    paths = {span["source"]["path"] for span in spans} - {None}
    assert all(Path(path).is_file() for path in paths)
    if (project / "CLAUDE.md").is_file():
        assert str(project / "CLAUDE.md") in paths


@pytest.mark.req("R015")
def test_what_a_file_gave_stands_in_it(tree: tuple[Path, Ended, Ended]) -> None:
    """The line that a span names holds the span's first words."""
    _, whole, body = tree
    data = body.out.encode()
    for span in json.loads(whole.out)["spans"]:
        source = span["source"]
        if source["kind"] == "memory" and source["line"]:
            text = json.loads(b'"%b"' % data[span["start"] : span["end"]])
            words = next((line for line in text.splitlines() if line.strip()), "").strip()
            rest = Path(source["path"]).read_text("utf-8", "replace").splitlines()[source["line"] - 1 :]
            assert words in "\n".join(rest), (source, words)


def test_no_rule_of_the_wire_is_broken(tree: tuple[Path, Ended, Ended]) -> None:
    _, whole, body = tree
    choices = Choices(model=None, betas=(), platform="claude-api", api_version=None, counting=False)
    headers = json.loads(whole.out)["headers"]
    context = circumstances(Found(file="body", line=None, data=body.out.encode(), headers=headers), choices)
    assert [found for found in check_body(body.out.encode(), context) if found.severity == "error"] == []


@pytest.mark.req("R022")
def test_the_tokens_add_up(tree: tuple[Path, Ended, Ended]) -> None:
    tokens = json.loads(tree[1].out)["tokens"]
    assert tokens["total"] == tokens["system"] + tokens["tools"] + tokens["messages"]
    assert all(tokens[region] > 0 for region in ("system", "tools", "messages"))


def test_no_credential_is_printed(tree: tuple[Path, Ended, Ended]) -> None:
    _, whole, body = tree
    assert "sk-planted" not in whole.out + whole.err + body.out + body.err
    assert set(json.loads(whole.out)["headers"]) <= {"anthropic-version", "anthropic-beta", "content-type"}


@pytest.mark.req("R029", "R030")
def test_the_static_system_block_is_that_of_an_empty_project(tree: tuple[Path, Ended, Ended], static: str) -> None:
    assert json.loads(tree[1].out)["body"]["system"][0]["text"] == static


@pytest.mark.parametrize("name", REPEATED)
def test_twenty_processes_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Hash seed, home, state folder, order of the files' making, time zone, umask and locale are different each time."""
    bodies = {_one_of_many(name, number, tmp_path) for number in range(PROCESSES)}
    assert len(bodies) == 1


def _one_of_many(name: str, number: int, folder: Path) -> str:
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    previous = os.umask((0o022, 0o077, 0o002)[number % 3])
    try:
        copied(name, project, seed=number)
        home = folder / f"home-{number}"
        ended = compiled(
            "--json",
            project,
            home,
            PYTHONHASHSEED=str(number * 7919),
            COMPOSITOR_HOME=str(folder / f"state-{number}" / "deep"),
            TZ=("UTC", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kolkata")[number % 4],
            LC_ALL=("C", "POSIX", "C.UTF-8", "no_NO.such")[number // 4 % 4],
            PYTHONUTF8=str(number % 2),
        )
    finally:
        os.umask(previous)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


@pytest.mark.req("R029", "R030")
def test_nothing_of_a_session_stands_in_the_static_block(tmp_path: Path) -> None:
    """Planted words stand somewhere behind the boundary, or nowhere; before it, not one."""
    plain = _surroundings(tmp_path / "plain", "plain", "2025-02-03T10:00:00Z")
    for number in range(6):
        word = f"planted{number}word"
        found = _surroundings(tmp_path / word, word, f"2026-0{number + 1}-1{number}T0{number}:00:00+0{number}:00")
        assert found["system"][0] == plain["system"][0]
        assert word not in found["system"][0]["text"]
        assert word in json.dumps(found["system"][1:])


def _surroundings(folder: Path, word: str, now: str) -> dict[str, Any]:
    project = folder / f"project-{word}"
    project.mkdir(parents=True)
    (project / "CLAUDE.md").write_text(f"Instructions with a {word}.", "utf-8")
    ended = compiled(
        "--body",
        project,
        folder / f"home-{word}",
        COMPOSITOR_NOW=now,
        USER=word,
        LOGNAME=word,
        HOSTNAME=word,
        SHELL=f"/bin/{word}",
        TERM=word,
        LANGUAGE=word,
    )
    assert (ended.code, ended.err) == (0, "")
    return dict(json.loads(ended.out))
