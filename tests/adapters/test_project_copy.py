"""The temporary copy of a project: what belongs to it, what becomes of links and odd names, when it is refused."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from compositor.adapters.project_copy import LIMIT, copy_project, is_copy
from compositor.errors import UsageError


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def names(folder: str) -> set[str]:
    """Every file and link of a copy."""
    root = Path(folder)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q")
    return project


def test_outside_a_repository_everything_but_git_belongs_to_it(project: Path) -> None:
    for name in ("a.txt", "sub/.hidden", "sub/deep/b.py", "sub/.git/config"):
        write(project / name)
    copy = copy_project(str(project))
    assert names(copy.path) == {"a.txt", "sub/.hidden", "sub/deep/b.py"}
    assert (Path(copy.path).name, copy.left_out) == ("project", ())


def test_what_git_ignores_stays_behind(repository: Path) -> None:
    write(repository / ".gitignore", "*.log\nbuild/\n")
    write(repository / ".git" / "info" / "exclude", "private\n")
    for name in ("tracked", "untracked", "gone", "x.log", "build/y", "private", "sub/.gitignore", "sub/kept.log"):
        write(repository / name, "!kept.log\n" if name == "sub/.gitignore" else "text")
    git(repository, "add", "tracked", "gone")
    (repository / "gone").unlink()
    copy = copy_project(str(repository))
    assert names(copy.path) == {".gitignore", "tracked", "untracked", "sub/.gitignore", "sub/kept.log"}


def test_a_folder_inside_a_repository(repository: Path) -> None:
    write(repository / ".gitignore", "*.log\n")
    for name in ("outside", "sub/inside", "sub/x.log"):
        write(repository / name)
    assert names(copy_project(str(repository / "sub")).path) == {"inside"}


def test_submodules_and_repositories_inside_belong_to_it(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "module.txt")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "one")
    git(repository, "submodule", "--quiet", "add", str(other), "vendor/module")
    git(repository, "submodule", "--quiet", "add", str(other), "vendor/bare")
    git(repository, "submodule", "--quiet", "deinit", "-f", "vendor/bare")
    write(repository / "nested" / "n.txt")
    git(repository / "nested", "init", "-q")
    copy = copy_project(str(repository))
    assert names(copy.path) == {".gitmodules", "vendor/module/module.txt", "nested/n.txt"}


@pytest.mark.parametrize("in_git", [True, False])
def test_links_within_stay_links_and_lead_into_the_copy(project: Path, in_git: bool) -> None:
    if in_git:
        git(project, "init", "-q")
    write(project / "sub" / "a.txt")
    (project / "relative").symlink_to("sub/a.txt")
    (project / "absolute").symlink_to(project / "sub" / "a.txt")
    (project / "folder").symlink_to("sub")
    (project / "dangling").symlink_to("nothing")
    (project / "sub" / "up").symlink_to("../relative")
    (project / "loop").symlink_to("loop")
    copy = copy_project(str(project))
    root = Path(copy.path)
    assert names(copy.path) == {"sub/a.txt", "sub/up", "relative", "absolute", "folder", "dangling", "loop"}
    assert copy.left_out == ()
    for name in ("relative", "absolute", "sub/up", "folder/a.txt"):
        assert (root / name).resolve() == root / "sub" / "a.txt"
    assert (root / "dangling").readlink() == Path("nothing")


@pytest.mark.parametrize("in_git", [True, False])
def test_links_that_lead_out_are_left_out_and_named(project: Path, tmp_path: Path, in_git: bool) -> None:
    """Through such a link a script would change files that are nobody's copy."""
    if in_git:
        git(project, "init", "-q")
    write(tmp_path / "own.txt")
    write(project / "a.txt")
    (project / "file").symlink_to(tmp_path / "own.txt")
    (project / "folder").symlink_to("..")
    (project / "root").symlink_to("/")
    copy = copy_project(str(project))
    assert (names(copy.path), copy.left_out) == ({"a.txt"}, ("file", "folder", "root"))


@pytest.mark.parametrize("in_git", [True, False])
def test_odd_names_and_things_that_are_no_files(project: Path, in_git: bool) -> None:
    if in_git:
        git(project, "init", "-q")
    odd = ["-rf", "a\nb", "od\udce9", 'quote"', "tab\t", " blank ", "ü/ß", "*", "$(x)"]
    for name in odd:
        write(project / name)
    os.mkfifo(project / "pipe")
    assert names(copy_project(str(project)).path) == set(odd)


def test_modes_and_contents_are_kept_and_the_copy_is_private(project: Path) -> None:
    write(project / "run.sh", "#!/bin/sh\n").chmod(0o750)
    copy = Path(copy_project(str(project)).path)
    assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o750
    assert (copy / "run.sh").read_text("utf-8") == "#!/bin/sh\n"
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700


def test_above_the_limit_it_is_refused_and_nothing_is_left(project: Path, temporary: Path) -> None:
    write(project / "small")
    with (project / "large").open("wb") as file:
        file.truncate(LIMIT)
    with pytest.raises(
        UsageError, match=r"too large for a temporary copy: the limit is 200 MB\. At .*project\. Take"
    ) as raised:
        copy_project(str(project))
    assert (raised.value.exit_code, list(temporary.iterdir())) == (2, [])


def test_what_git_ignores_does_not_count(repository: Path) -> None:
    write(repository / ".gitignore", "large\n")
    with (repository / "large").open("wb") as file:
        file.truncate(LIMIT + 1)
    assert names(copy_project(str(repository)).path) == {".gitignore"}


def test_exactly_the_limit_is_enough(project: Path) -> None:
    with (project / "large").open("wb") as file:
        file.truncate(LIMIT)
    assert Path(copy_project(str(project)).path, "large").stat().st_size == LIMIT


def test_what_cannot_be_copied_is_one_sentence_and_nothing_is_left(
    project: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project / "locked")

    def refuse(source: Path, _target: Path) -> None:
        raise PermissionError(13, "Permission denied", str(source))

    monkeypatch.setattr("shutil.copy2", refuse)
    with pytest.raises(
        UsageError, match=r"The project cannot be copied: Permission denied\. At .*locked\. Make"
    ) as raised:
        copy_project(str(project))
    assert (raised.value.exit_code, list(temporary.iterdir())) == (2, [])


def test_a_copy_is_used_as_it_is(project: Path) -> None:
    write(project / "a.txt")
    copy = copy_project(str(project))
    assert copy_project(copy.path) == copy
    assert (is_copy(copy.path), is_copy(str(project)), is_copy(str(Path(copy.path).parent))) == (True, False, False)


def test_the_variables_of_a_git_hook_do_not_lead_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    write(other / "b.txt")
    git(other, "init", "-q")
    write(project / "a.txt")
    git(project, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert names(copy_project(str(project)).path) == {"a.txt"}


def test_nothing_that_a_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = write(tmp_path / "monitor", f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))
    write(repository / "a.txt")
    assert names(copy_project(str(repository)).path) == {"a.txt"}
    assert not ran.exists()
