"""The tables of commands: nothing dangerous is harmless, everything destructive is known."""

import pytest

from compositor.policy.command_table import EDITS, FIND_TESTS, READS, Operands
from compositor.policy.commands import (
    edited_paths,
    harmless_paths,
    parse_words,
    path_words,
)
from compositor.policy.destructive import deleted_words, destructive_pattern
from compositor.policy.shell import parse_shell
from compositor.policy.words import Word
from compositor.types.patterns import DESTRUCTIVE_PATTERNS

# What each of these can do is in its manual: write, run a program, reach the network, follow links away, or never end.
DANGEROUS = {
    "cat": (),
    "date": ("-s", "--set", "-f", "--file", "-r"),
    "diff": ("--to-file", "--from-file", "-X", "-r", "-l", "--paginate", "--output"),
    "du": ("-L", "--dereference", "--files0-from", "-X"),
    "file": ("-C", "--compile", "-f", "-m", "-z"),
    "git": (),
    "grep": ("-R", "--dereference-recursive"),
    "ls": (),
    "md5sum": ("-c", "--check"),
    "rg": ("--pre", "--pre-glob", "-z", "--search-zip", "--hostname-bin", "-L", "--follow", "--debug"),
    "sort": ("-o", "--output", "-T", "--temporary-directory", "--compress-program", "-S", "--files0-from"),
    "tail": ("-f", "-F", "--follow", "--retry"),
    "tree": ("-o", "-l", "--fromfile", "-R"),
    "wc": ("--files0-from",),
}
GIT_DANGEROUS = (
    "--output", "--ext-diff", "--textconv", "--no-index", "--open-files-in-pager", "--exec-path", "--upload-pack", "--contents",
    "--filters", "--batch", "--force", "--edit", "--exclude-from", "--delete", "--move", "--add", "--set-upstream-to", "-D", "-O",
)  # fmt: skip


def words(text: str) -> tuple[Word, ...]:
    line = parse_shell(text)
    assert line.problem is None, line.problem
    return line.parts[0].words


@pytest.mark.req("R363")
@pytest.mark.parametrize("name", sorted(DANGEROUS))
def test_no_dangerous_flag_is_harmless(name: str) -> None:
    row = READS.get((name,))
    for flag in DANGEROUS[name]:
        assert row is not None
        assert flag not in row.flags | row.values | row.joined, flag
        for form in (f"{name} {flag} a b", f"{name} {flag}=a b", f"{name} {flag}a b", f"{name} a {flag} b"):
            assert harmless_paths(words(form)) is None, form


@pytest.mark.parametrize("flag", GIT_DANGEROUS)
def test_no_git_command_takes_a_dangerous_flag(flag: str) -> None:
    for key, row in READS.items():
        if key[0] == "git":
            assert flag not in row.flags | row.values | row.joined, key
            assert harmless_paths(words(f"{' '.join(key)} {flag}")) is None, key


def test_an_abbreviated_flag_is_unknown() -> None:
    assert harmless_paths(words("ls --revers")) is None
    assert harmless_paths(words("sort --uniqu a")) is None
    assert harmless_paths(words("git diff --outp=x")) is None


def test_every_operand_and_value_is_judged_as_a_path() -> None:
    assert harmless_paths(words("grep -f pats -rn x src")) == (".", "x", "src", "pats")
    assert harmless_paths(words("grep --context x /etc/passwd")) == (".", "/etc/passwd", "x")
    assert harmless_paths(words("head -n 5 a -- -b")) == ("a", "-b", "5")
    assert harmless_paths(words("git diff -M /etc/passwd a")) == (".", "/etc/passwd", "a")
    assert harmless_paths(words("git show HEAD:.env")) == (".", "HEAD:.env", ".env")
    assert harmless_paths(words("find a b -newer c -name d")) == ("a", "b", "c")
    assert harmless_paths(words("find -name d")) == (".",)
    assert harmless_paths(words("sed -n 1,5p a b")) == ("a", "b")


@pytest.mark.parametrize(
    "script",
    [
        "1e id",
        "w x",
        "s/a/b/w x",
        "s/a/b/e",
        "r /etc/passwd",
        "1,5!d",
        "s/a/b/;w x",
        "y/a/b/",
        "{p}",
        "p;p",
        "s/a/b",
        "s/a/b/2e",
        "s/a\\/b/",
        "/x/w y",
        "$!N",
        "i\\",
        "",
    ],
)
def test_a_sed_script_that_is_not_plain_is_unknown(script: str) -> None:
    assert harmless_paths((Word("sed", "sed", True), Word("x", script, True), Word("a", "a", True))) is None


@pytest.mark.parametrize(
    "script", ["p", "5p", "1,20p", "$p", "3,$d", "s/a/b/", "s|a/b|c|g", "s/a\\/b/c/gi", "1,3s,a,b,"]
)
def test_a_plain_sed_script(script: str) -> None:
    assert harmless_paths((Word("sed", "sed", True), Word("x", script, True), Word("a", "a", True))) == ("a",)
    in_place = (Word("sed", "sed", True), Word("-i", "-i", True), Word("x", script, True), Word("a", "a", True))
    assert harmless_paths(in_place) is None
    assert edited_paths(in_place) == ("a",)


def test_words_that_the_shell_replaces_are_never_harmless() -> None:
    assert harmless_paths(words("cat *")) is None
    assert harmless_paths(words("ls $x")) is None
    assert harmless_paths(words("ls src/*")) == (".", "src")
    assert edited_paths(words("rm *")) is None


def test_what_is_copied_into_a_folder_is_judged_where_it_lands() -> None:
    assert edited_paths(words("cp a b/c d")) == ("a", "b/c", "d", "d/a", "d/c")
    assert edited_paths(words("mv .git x")) == (".git", "x", "x/.git")
    assert edited_paths(words("cp a/. d")) is None
    assert edited_paths(words("cp a/ d")) is None
    assert edited_paths(words("cp .. d")) is None


@pytest.mark.parametrize("rows", [READS, EDITS])
def test_no_row_contradicts_itself(rows: dict[tuple[str, ...], object]) -> None:
    for key, row in (READS if rows is READS else EDITS).items():
        assert not row.flags & row.values, key
        assert not row.joined & (row.values | row.flags), key
        assert all(flag.startswith("-") for flag in row.flags | row.values | row.joined | row.needs), key
        assert all(len(flag) == 2 for flag in row.joined), key
        assert row.needs <= row.flags | row.values, key
        assert not any(flag.startswith("-") and not flag.startswith("--") and len(flag) > 2 for flag in row.values), key


def test_a_flag_cluster_is_read_letter_by_letter() -> None:
    row = READS["head",]
    assert parse_words(("-qn5", "a"), row) is not None
    assert parse_words(("-qX", "a"), row) is None
    assert parse_words(("-n",), row) is None
    assert parse_words(("-5", "a"), row) is not None
    parsed = parse_words(("-n", "-c", "a"), row)
    assert parsed is not None
    assert (parsed.operands, parsed.values) == (("a",), ("-c",))


def test_only_tests_of_find_that_look() -> None:
    writing = {
        "-delete",
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-fprint",
        "-fprint0",
        "-fprintf",
        "-fls",
        "-files0-from",
        "-D",
        "-L",
        "-follow",
    }
    assert not writing & FIND_TESTS.keys()


@pytest.mark.req("R369")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("rm -r a", "delete-tree"),
        ("rm -fR a", "delete-tree"),
        ("rm --recursive a", "delete-tree"),
        ("rm --recurs a", "delete-tree"),
        ("/bin/rm -rf a", "delete-tree"),
        ("find . -delete", "find-delete"),
        ("git push --force", "force-push"),
        ("git push -f origin x", "force-push"),
        ("git push --force-with-lease=x", "force-push"),
        ("git -C x push -f", "force-push"),
        ("git push origin +main", "force-push-refspec"),
        ("git push origin :main", "force-push-refspec"),
        ("git push --delete origin x", "delete-remote-branch"),
        ("git reset --hard HEAD~1", "hard-reset"),
        ("git checkout -- a", "discard-checkout"),
        ("git checkout .", "discard-checkout-all"),
        ("git restore a", "restore"),
        ("git clean -fdx", "clean"),
        ("git branch -D x", "delete-branch"),
        ("git stash drop", "drop-stash"),
        ("git stash clear", "clear-stash"),
        ("git commit --amend", "amend"),
        ("git commit --no-verify -m x", "skip-hooks"),
        ("git filter-branch x", "rewrite-history"),
        ("git reflog expire --all", "expire-reflog"),
        ("mkfs.ext4 /dev/sda1", "make-filesystem"),
        ("dd if=a of=/dev/sda", "raw-device"),
        ("chmod -R 777 a", "open-permissions"),
        ("chown -R me a", "change-owner"),
        ("docker system prune -a", "docker-prune"),
        ("terraform destroy", "terraform-destroy"),
        ("kubectl delete pod x", "kubectl-delete"),
        ("killall x", "kill-all"),
        ("pkill x", "pkill"),
        ("shred a", "shred"),
        ("dropdb x", "drop-database"),
        ("wipefs -a x", "wipe-signatures"),
        ("fdisk x", "partition"),
        ("parted x", "partition-parted"),
        ("shutdown now", "power-off"),
        ("reboot", "reboot"),
    ],
)
def test_every_destructive_pattern(text: str, name: str) -> None:
    row = destructive_pattern(words(text))
    assert row is not None
    assert row.name == name


@pytest.mark.parametrize(
    "text",
    [
        "rm a",
        "rm -f a",
        "git push",
        "git push origin main",
        "git reset a",
        "git checkout main",
        "git clean -n",
        "git branch x",
        "git commit -m x",
        "git stash",
        "dd if=a of=b",
        "chmod +x a",
        "find . -name x",
        "docker ps",
        "git log",
    ],
)
def test_what_can_be_taken_back_is_not_destructive(text: str) -> None:
    assert destructive_pattern(words(text)) is None


@pytest.mark.req("R369")
def test_the_catalogue_has_one_row_a_name_and_a_text_for_the_prompt() -> None:
    names = [row.name for row in DESTRUCTIVE_PATTERNS]
    assert len(names) == len(set(names))
    for row in DESTRUCTIVE_PATTERNS:
        assert row.words, row
        assert row.warning[0].islower(), row
        assert not row.warning.endswith("."), row


@pytest.mark.parametrize(
    ("text", "deleted"),
    [
        ("rm -rf a b", ("a", "b")),
        ("rmdir a", ("a",)),
        ("find a -delete", ("a",)),
        ("find -delete", (".",)),
        ("ls a", ()),
    ],
)
def test_deleted_words(text: str, deleted: tuple[str, ...]) -> None:
    assert deleted_words(words(text)) == deleted


def test_every_part_of_a_word_that_may_name_a_file_is_seen() -> None:
    found = set(path_words(words("curl -d@a --data=@b -o c d=e HEAD:f -Ig 'h i' ~/j *k")))
    assert found >= {"a", "b", "c", "e", "f", "g", "h i", "~/j"}
    assert "*k" not in found


def test_a_text_operand_is_no_path() -> None:
    assert READS["echo",].operands is Operands.TEXT
    assert harmless_paths(words("echo /etc/passwd")) == ()
    assert harmless_paths(words("date +%F")) == ()
    assert harmless_paths(words("date 0101")) is None
