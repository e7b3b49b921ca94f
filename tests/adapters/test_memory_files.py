"""The reader on a real file system: what is there, what only looks like a file, and what must not matter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compositor.adapters.memory_files import load_memory, memory_place, read_file, read_folder
from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.facts import FILE_LIMIT, Missing


def load(cwd: Path, **settings: object) -> MemoryChain:
    values: dict[str, object] = {"home": None, "config_home": None, **settings}
    return load_memory(memory_place(cwd=str(cwd), **values))  # type: ignore[arg-type]


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def below(chain: MemoryChain, root: Path) -> list[tuple[str, str]]:
    """Path and text of the files below `root`: directories above a temporary folder belong to the machine."""
    prefix = f"{root}/"
    return [(f.file.path.removeprefix(prefix), f.file.text) for f in chain.files if f.file.path.startswith(prefix)]


@pytest.mark.req("R098", "R111", "R112", "R113")
def test_a_whole_project_is_loaded(tmp_path: Path) -> None:
    write(tmp_path / "etc/CLAUDE.md", "managed")
    write(tmp_path / "home/.claude/CLAUDE.md", "user @~/more.md")
    write(tmp_path / "home/more.md", "more")
    write(tmp_path / "ws/CLAUDE.md", "outer")
    write(tmp_path / "ws/repo/CLAUDE.md", "@docs/a.md")
    write(tmp_path / "ws/repo/docs/a.md", "imported")
    write(tmp_path / "ws/repo/.claude/rules/x/y.md", "rule")
    write(tmp_path / "ws/repo/CLAUDE.local.md", "local")
    chain = load(
        tmp_path / "ws/repo",
        home=str(tmp_path / "home"),
        config_home=str(tmp_path / "home/.claude"),
        managed=[str(tmp_path / "etc")],
    )
    assert below(chain, tmp_path) == [
        ("etc/CLAUDE.md", "managed"),
        ("home/.claude/CLAUDE.md", "user @~/more.md"),
        ("home/more.md", "more"),
        ("ws/CLAUDE.md", "outer"),
        ("ws/repo/CLAUDE.md", "@docs/a.md"),
        ("ws/repo/docs/a.md", "imported"),
        ("ws/repo/.claude/rules/x/y.md", "rule"),
        ("ws/repo/CLAUDE.local.md", "local"),
    ]


@pytest.mark.req("R137", "R138")
def test_links_are_resolved_before_anything_is_decided(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    write(tmp_path / "secret/key.md", "SECRET")
    write(repo / "AGENTS.md", "agents")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    write(repo / "CLAUDE.local.md", "@in.md @loop.md @AGENTS.md @gone.md")
    (repo / "in.md").symlink_to(tmp_path / "secret/key.md")
    (repo / "loop.md").symlink_to("loop.md")
    (repo / "gone.md").symlink_to("nowhere.md")
    chain = load(repo)
    assert [text for _, text in below(chain, repo)] == ["agents", "@in.md @loop.md @AGENTS.md @gone.md"]
    assert sorted(problem.code for problem in chain.diagnostics) == [
        "memory.import-missing",
        "memory.import-outside",
        "memory.unreadable",
    ]


def test_a_working_directory_behind_a_link_is_the_real_one(tmp_path: Path) -> None:
    write(tmp_path / "real/repo/CLAUDE.md", "@a.md")
    write(tmp_path / "real/repo/a.md", "a")
    (tmp_path / "link").symlink_to("real")
    assert below(load(tmp_path / "link/repo"), tmp_path) == [("real/repo/CLAUDE.md", "@a.md"), ("real/repo/a.md", "a")]


def test_pipes_devices_and_folders_in_the_place_of_a_file_cannot_block_or_feed_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "CLAUDE.md")
    (tmp_path / "CLAUDE.local.md").symlink_to("/dev/zero")
    (tmp_path / ".claude/CLAUDE.md").mkdir(parents=True)
    write(tmp_path / "AGENTS.md", "agents")
    chain = load(tmp_path)
    assert below(chain, tmp_path) == [("AGENTS.md", "agents")]
    assert [problem.code for problem in chain.diagnostics] == ["memory.not-a-file"] * 3


def test_the_limit_is_exact(tmp_path: Path) -> None:
    write(tmp_path / "just", b"x" * FILE_LIMIT)
    write(tmp_path / "over", b"x" * (FILE_LIMIT + 1))
    assert read_file(str(tmp_path / "just"), FILE_LIMIT).size == FILE_LIMIT
    over = read_file(str(tmp_path / "over"), FILE_LIMIT)
    assert (over.missing, over.size, over.data) == (Missing.TOO_LARGE, FILE_LIMIT + 1, None)


@pytest.mark.req("R140")
@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("nothing", Missing.ABSENT),
        ("file/below", Missing.ABSENT),
        ("n" * 300, Missing.UNREADABLE),
        ("a\0b", Missing.UNREADABLE),
    ],
)
def test_paths_that_cannot_be_there_are_facts_and_no_errors(tmp_path: Path, name: str, missing: Missing) -> None:
    write(tmp_path / "file", "x")
    fact = read_file(f"{tmp_path}/{name}", FILE_LIMIT)
    assert (fact.missing, fact.data) == (missing, None)


def test_a_content_fact_holds_what_a_later_look_compares(tmp_path: Path) -> None:
    path = write(tmp_path / "CLAUDE.md", "text")
    fact = read_file(str(path), FILE_LIMIT)
    assert (fact.data, fact.size, fact.modified, fact.real) == (b"text", 4, path.stat().st_mtime_ns, str(path))


def test_a_folder_lists_markdown_and_folders_and_follows_links(tmp_path: Path) -> None:
    write(tmp_path / "rules/a.md", "")
    write(tmp_path / "rules/B.MD", "")
    write(tmp_path / "rules/c.txt", "")
    write(tmp_path / "shared/d.md", "")
    (tmp_path / "rules/linked").symlink_to("../shared")
    (tmp_path / "rules/link.md").symlink_to("../shared/d.md")
    fact = read_folder(str(tmp_path / "rules"))
    assert (sorted(fact.files), fact.folders) == (["B.MD", "a.md", "link.md"], ("linked",))
    assert read_folder(str(tmp_path / "nothing")).files == ()
    assert read_folder(str(tmp_path / "rules/a.md")).folders == ()


def test_file_names_that_are_no_text_are_loaded_and_shown_as_text(tmp_path: Path) -> None:
    rules = tmp_path / ".claude/rules"
    rules.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(str(rules)) + b"/gr\xfcn.md")).write_text("rule")
    ((path, text),) = below(load(tmp_path), tmp_path)
    assert (path, text) == (".claude/rules/gr\ufffdn.md", "rule")


def test_a_repository_around_the_home_folder_is_no_project(tmp_path: Path) -> None:
    write(tmp_path / "home/code/CLAUDE.md", "@../private.md")
    write(tmp_path / "home/private.md", "never")
    home = str(tmp_path / "home")
    chain = load(tmp_path / "home/code", home=home, config_home=f"{home}/.claude", project_root=home)
    assert [text for _, text in below(chain, tmp_path)] == ["@../private.md"]
    assert [problem.code for problem in chain.diagnostics] == ["memory.import-outside"]


PROGRAM = """
import json, sys
from compositor.adapters.memory_files import load_memory, memory_place
from compositor.context.prompt.user_context import plan_user_context, render_user_context
chain = load_memory(memory_place(cwd=sys.argv[1], home=sys.argv[2], config_home=sys.argv[2] + "/.claude"))
fragments = render_user_context(plan_user_context(chain))
print(json.dumps(["".join(f.text for f in fragments), [o.what for o in chain.omissions], [d.message for d in chain.diagnostics]]))
"""


@pytest.mark.req("R147")
def test_hash_seed_home_and_order_of_creation_change_no_byte(tmp_path: Path, repository: Path) -> None:
    names = [f"{letter}{number}.md" for letter in "zäAb" for number in range(5)]
    outputs = set()
    for seed, order in enumerate((names, names[::-1], sorted(names))):
        project = tmp_path / "project"
        for name in order:
            write(project / ".claude/rules" / name, f"rule {name}")
        write(project / "CLAUDE.md", "\n".join(f"@docs/{name}" for name in names))
        for name in order:
            write(project / "docs" / name, f"doc {name}")
        environ = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(repository / "src")}
        command = [sys.executable, "-c", PROGRAM, str(project), str(tmp_path / f"home{seed}")]
        outputs.add(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)
        for path in sorted(project.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    (output,) = outputs
    text = json.loads(output)[0]
    assert text.index("rule A0.md") < text.index("rule b0.md") < text.index("rule z0.md") < text.index("rule ä0.md")
