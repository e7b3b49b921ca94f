"""Bytes that are no plain text, and ways out of a project: each has a stated result, on a real file system."""

import os
from pathlib import Path

import pytest

from compositor.adapters.memory_files import load_memory, load_nested, memory_place
from compositor.adapters.memory_survey import survey_project
from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.facts import FILE_LIMIT


def load(repo: Path, **settings: object) -> MemoryChain:
    values: dict[str, object] = {"home": None, "config_home": None, **settings}
    return load_memory(memory_place(cwd=str(repo), **values))  # type: ignore[arg-type]


def outcome(chain: MemoryChain, repo: Path) -> tuple[list[str], list[str]]:
    """Texts and codes of the files below `repo`."""
    texts = [loaded.file.text for loaded in chain.files if loaded.path.startswith(f"{repo}/")]
    return texts, [note.code for note in chain.diagnostics if note.where.startswith(f"{repo}/")]


BYTES: dict[str, tuple[bytes, list[str], list[str]]] = {
    "byte order mark": (b"\xef\xbb\xbfUse tabs.\n", ["Use tabs."], []),
    "carriage returns": (b"one\r\ntwo\rthree\n", ["one\ntwo\nthree"], []),
    "UTF-16 little": ("\ufeffGrüße".encode("utf-16-le"), ["Grüße"], []),
    "UTF-16 big": ("\ufeffGrüße".encode("utf-16-be"), ["Grüße"], []),
    "UTF-16 cut in a character": ("\ufeffGrüße".encode("utf-16-le")[:-1], ["Grüß\ufffd"], ["memory.encoding"]),
    "Latin-1": ("Grüße".encode("latin-1"), ["Gr\ufffd\ufffde"], ["memory.encoding"]),
    "NUL": (b"text\0more", [], ["memory.binary"]),
    "UTF-16 without its mark": ("text".encode("utf-16-le"), [], ["memory.binary"]),
    "empty": (b"", [], []),
    "just 4 MiB": (b"x" * FILE_LIMIT, ["x" * FILE_LIMIT], ["memory.large"]),
    "over 4 MiB": (b"x" * (FILE_LIMIT + 1), [], ["memory.too-large"]),
}


@pytest.mark.req("R142", "R144", "R147")
@pytest.mark.parametrize("name", BYTES)
def test_each_kind_of_bytes_has_a_stated_result(name: str, tmp_path: Path) -> None:
    data, texts, codes = BYTES[name]
    (tmp_path / "CLAUDE.md").write_bytes(data)
    assert outcome(load(tmp_path), tmp_path) == (texts, codes)


@pytest.mark.req("R131", "R147")
def test_a_head_from_windows_is_a_head(tmp_path: Path) -> None:
    rule = tmp_path / ".claude/rules/r.md"
    rule.parent.mkdir(parents=True)
    rule.write_bytes(b'\xef\xbb\xbf---\r\npaths: "**/*.ts"\r\n---\r\nUse tabs.\r\n')
    chain = load(tmp_path)
    assert [loaded.file.text for loaded in chain.files if loaded.path == str(rule)] == []
    place = memory_place(cwd=str(tmp_path), home=None, config_home=None)
    nested = load_nested(place, chain, [str(tmp_path / "a.ts")])
    assert [loaded.file.text for loaded in nested.files] == ["Use tabs."]


def test_a_file_without_the_right_to_read_it_and_a_folder_in_its_place_are_told(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").mkdir()
    loop = tmp_path / "CLAUDE.local.md"
    loop.symlink_to(loop.name)
    assert outcome(load(tmp_path), tmp_path) == ([], ["memory.not-a-file", "memory.unreadable"])


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A project beside a secret, both below one folder."""
    project = tmp_path / "repo"
    (project / "docs").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.md").write_text("SECRET")
    return project


def attack(repo: Path, mark: str) -> tuple[str, list[str]]:
    (repo / "CLAUDE.md").write_text(f"top {mark}\n")
    chain = load(repo)
    texts, codes = outcome(chain, repo)
    everything = "".join(loaded.file.text for loaded in chain.files)
    assert "SECRET" not in everything
    assert "root:" not in everything
    assert texts == [f"top {mark}"]
    return everything, codes


@pytest.mark.req("R138", "R142")
@pytest.mark.parametrize(
    ("mark", "code"),
    [
        ("@../secret/key.md", "memory.import-outside"),
        ("@docs/../../secret/key.md", "memory.import-outside"),
        ("@docs/./.././../secret/./key.md", "memory.import-outside"),
        ("@/proc/self/cwd/../secret/key.md", "memory.import-outside"),
        ("@/proc/self/root/etc/motd.md", "memory.import-outside"),
        ("@/proc/self/environ", "memory.import-name"),
        ("@../../../../../../../../etc/passwd", "memory.import-name"),
        ("@/etc/passwd", "memory.import-name"),
        ("@/dev/zero", "memory.import-name"),
        ("@/dev/stdin.md", "memory.import-outside"),
        ("@../REPO/x.md", "memory.import-outside"),
        ("@../repository/x.md", "memory.import-outside"),
        ("@.ENV", "memory.import-name"),
        ("@docs/id_rsa", "memory.import-name"),
    ],
)
def test_no_spelling_leads_out(repo: Path, mark: str, code: str) -> None:
    assert attack(repo, mark)[1] == [code]


@pytest.mark.req("R137", "R138")
@pytest.mark.parametrize(
    "links",
    [
        {"in.md": "../secret/key.md"},
        {"in.md": "step.md", "step.md": "docs/last.md", "docs/last.md": "../../secret/key.md"},
        {"out": "../secret", "in.md": "out/key.md"},
        {"in.md": "/proc/self/cwd/../secret/key.md"},
    ],
)
def test_no_chain_of_links_leads_out(repo: Path, links: dict[str, str]) -> None:
    for name, target in links.items():
        (repo / name).symlink_to(target)
    _, codes = attack(repo, "@in.md")
    assert codes in (["memory.import-outside"], ["memory.import-missing"])


@pytest.mark.req("R137", "R138")
def test_a_folder_that_is_a_link_leads_out_for_nobody(repo: Path) -> None:
    (repo / "out").symlink_to("../secret")
    assert attack(repo, "@out/key.md")[1] == ["memory.import-outside"]


@pytest.mark.req("R138")
@pytest.mark.parametrize("target", ["/dev/zero", "/proc/self/environ", "/dev/null"])
def test_a_device_behind_a_name_of_text_is_not_read(repo: Path, target: str) -> None:
    (repo / "in.md").symlink_to(target)
    _, codes = attack(repo, "@in.md")
    assert codes in (["memory.import-outside"], ["memory.import-missing"])


@pytest.mark.req("R138")
def test_an_approval_opens_no_device_and_no_other_name(repo: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret/pipe.md")
    (repo / "CLAUDE.md").write_text("@../secret/pipe.md @../secret/key.md @../secret2/x.md\n")
    chain = load(repo, approved=(str(tmp_path / "secret"),))
    assert "SECRET" in [loaded.file.text for loaded in chain.files]
    assert outcome(chain, repo)[1] == ["memory.import-missing", "memory.import-outside"]


@pytest.mark.req("R138")
def test_a_rules_folder_that_is_a_link_is_followed_and_its_imports_stay_contained(repo: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "r.md").write_text("shared rule @../../../secret/key.md")
    (repo / ".claude").mkdir()
    (repo / ".claude/rules").symlink_to(shared)
    (shared / "again").symlink_to(shared)
    chain = load(repo)
    texts, codes = outcome(chain, repo)
    assert texts == ["shared rule @../../../secret/key.md"]
    assert codes == ["memory.import-outside"]


def test_a_survey_ends_at_its_limit_and_follows_no_link(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "CLAUDE.md").write_text(name)
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/CLAUDE.md").write_text("git")
    whole = survey_project(str(tmp_path))
    assert (whole.files, whole.is_whole) == (("a/CLAUDE.md", "a/loop", "b/CLAUDE.md", "c/CLAUDE.md"), True)
    assert whole.nested == tuple(str(tmp_path / name) for name in "abc")
    cut = survey_project(str(tmp_path), limit=2)
    assert (cut.files, cut.is_whole) == (("a/CLAUDE.md", "a/loop"), False)
