"""What counts as one plain simple command, and which commands are seen in any other line."""

import pytest

from compositor.policy.reach import plain_text, reachable_commands, spellings
from compositor.policy.shell import MAX_LENGTH, parse_shell
from compositor.policy.words import scan_words
from compositor.policy.wrappers import RESERVED, SCRIPT_SHELLS, WRAPPERS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls", ["ls"]),
        ("  ls   -la  ", ["ls", "-la"]),
        ("echo 'a b' \"c d\" e\\ f", ["echo", "a b", "c d", "e f"]),
        ("echo a\"b\"'c'd", ["echo", "abcd"]),
        ('echo "a\\"b\\\\c\\d"', ["echo", 'a"b\\c\\d']),
        ("grep -E '(a|b)$' x", ["grep", "-E", "(a|b)$", "x"]),
        ("echo ''", ["echo", ""]),
        ("echo a#b", ["echo", "a#b"]),
        ("echo \\$HOME", ["echo", "$HOME"]),
        ("find . -exec x {} \\;", ["find", ".", "-exec", "x", "{}", ";"]),
        ("echo é", ["echo", "é"]),
        ("git commit -m 'a; b && c > d'", ["git", "commit", "-m", "a; b && c > d"]),
        ("ls\n", ["ls"]),
    ],
)
def test_one_plain_simple_command(text: str, words: list[str]) -> None:
    line = parse_shell(text)
    assert line.problem is None
    (part,) = line.parts
    assert [word.text for word in part.words] == words
    assert part.is_literal
    assert not part.wraps
    assert not line.opaque


@pytest.mark.parametrize("word", ["*", "a*", "a?", "[ab]", "{a,b}", "~", "~/x", "a=~/x", "a:~"])
def test_a_word_that_the_shell_replaces_is_not_literal(word: str) -> None:
    line = parse_shell(f"frob {word}")
    (part,) = line.parts
    assert [one.literal for one in part.words] == [True, False]


@pytest.mark.parametrize("word", ["'*'", '"*"', "\\*", "'~'", "a~", "{}", "x=1", "-", "--", "a!b", "^", "%1", "@", "5"])
def test_a_quoted_or_plain_word_is_literal(word: str) -> None:
    line = parse_shell(f"frob {word}")
    assert line.parts[0].words[1].literal


@pytest.mark.parametrize(
    "char",
    [
        "\x00",
        "\x01",
        "\t",
        "\r",
        "\x0b",
        "\x1b",
        "\x7f",
        "\x85",
        "\xa0",
        "\u200b",
        "\u2028",
        "\u202e",
        "\u3000",
        "\ufeff",
    ],
)
def test_a_control_or_invisible_character_is_never_simple(char: str) -> None:
    line = parse_shell(f"ls a{char}b")
    assert line.problem is not None
    assert line.opaque
    assert parse_shell(f"echo 'a{char}b'").problem is not None


def test_limits() -> None:
    assert parse_shell("echo " + "a" * (MAX_LENGTH - 5)).problem is None
    long = parse_shell("echo " + "a" * MAX_LENGTH)
    assert long.problem is not None
    assert long.opaque
    assert parse_shell("echo \ud800").problem is not None
    assert parse_shell("").problem == "the command is empty"


@pytest.mark.req("R363")
@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_a_command_that_runs_another_needs_an_exact_rule_or_is_taken_off_and_hides_nothing(name: str) -> None:
    line = parse_shell(f"{name} rm x")
    taken_off = {"builtin", "command", "nice", "noglob", "nohup", "stdbuf", "time", "xargs"}
    (part,) = line.parts or (None,)
    if name == "timeout":
        assert part is not None
        assert plain_text(part.words) == "x"
    elif name in taken_off:
        assert part is not None
        assert plain_text(part.words) == "rm x"
        assert part.open_ended == (name == "xargs")
    elif name in SCRIPT_SHELLS:
        assert part is not None
        assert not part.wraps
    else:
        assert part is None or part.wraps
    assert "rm x" in {" ".join(word.text for word in words) for words in reachable_commands(line)}


@pytest.mark.parametrize("word", sorted(RESERVED - {"!"}))
def test_a_reserved_word_is_never_a_command(word: str) -> None:
    assert parse_shell(f"{word} x").problem is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a && b || c; d & e | f", ["a", "b", "c", "d", "e", "f"]),
        ('echo "x $(a "$(b)") `c`"', ["a", "b", "c"]),
        ("x=$(a) y=`b` c", ["a", "b", "c"]),
        ("echo ${x:-$(a)}", ["a"]),
        ("cat <(a) > >(b)", ["a", "b"]),
        ("cat <<E\n$(a)\nE", ["a"]),
        ("cat <<< $(a)", ["a"]),
        ("[[ -n $(a) ]]", ["a"]),
        ("echo $((1 + $(a)))", ["a"]),
        ("case $(a) in x) b;; *) c;; esac", ["a", "b", "c"]),
        ("until a; do b; done", ["a", "b"]),
        ("f() { a; }", ["a"]),
        ("env -i A=1 nice -n 5 timeout 3 a", ["a"]),
        ("bash -c \"bash -c 'a'\"", ["a"]),
        ("find . -exec a {} + -o -execdir b {} \\;", ["a", "b"]),
        ("coproc P { a; }", ["a"]),
        ("! time -p a", ["a"]),
        ("coproc a", ["a"]),
        (">x <y a b >z c", ["a"]),
        ("time <x a b", ["a"]),
        ("2> $ a", ["a"]),
        ("bash <x -c 'a b'", ["a"]),
        ("env <<E a b\nE", ["a"]),
        ("[ || b'c' x", ["bc"]),
        ("export X=$(a)", ["a"]),
        ("bash <<E\na\nE", ["a"]),
        ("bash <<E\nX=1 Y=2 a\nE", ["a"]),
        ("a 2>&1 >/dev/null", ["a"]),
        ("select x in y; do a; done", ["a"]),
    ],
)
def test_every_command_is_found_however_deep(text: str, found: list[str]) -> None:
    heads = {words[0].text for words in reachable_commands(parse_shell(text))}
    assert set(found) <= heads


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("a > x", [("x", True)]),
        ("a >> x 2> y", [("x", True), ("y", True)]),
        ("a &> x", [("x", True)]),
        ("a >| x", [("x", True)]),
        ("a < x", [("x", False)]),
        ("a <> x", [("x", True)]),
        ("a 2>&1", []),
        ("a > /dev/null", []),
        ("a > 'x y'", [("x y", True)]),
    ],
)
def test_redirections(text: str, targets: list[tuple[str, bool]]) -> None:
    line = parse_shell(text)
    assert [(one.target.text, one.writes) for one in line.redirects] == targets
    assert (line.problem is None) == ("<>" not in text)


@pytest.mark.req("R371")
@pytest.mark.parametrize("text", ["{}", "{} x", "ls; {}", "{ls;}", "cat <<E\nx\nE\n{}"])
def test_a_brace_without_a_blank_opens_no_group(text: str) -> None:
    assert parse_shell(text).problem is not None


@pytest.mark.req("R371")
@pytest.mark.parametrize(
    "text",
    [
        "\\ ls",
        "\\  2>/dev/null",
        "- x=1",
        "nice <<<a b c",
        "[ -f x ]# y",
        "ls <<< \nls",
        "rm -v<<E\nx\nE",
        "![ -f x ]",
        "x `a b``a b`",
        "a <<< x<(ls)",
        'a <<<"b"\\; c',
        "a -v \\ > b",
        "a <<E\\; b\nx\nE",
        "[ -f x ]2> y",
        "a\\\nb  \n\\$",
        "ls;#x\nls 'a",
    ],
)
def test_what_grammar_and_shell_read_differently_is_not_understood(text: str) -> None:
    """Found by comparing with the second opinion."""
    line = parse_shell(text)
    assert line.problem is not None or "b c" in {plain_text(part.words) for part in line.parts}


def test_words_behind_a_redirection_belong_to_the_command() -> None:
    for text in (
        "cat <x -n a >y b",
        "cat >y -n <x a b",
        "<x cat -n a 2>&1 b",
        "cat <<<x -n a >y b",
        "cat <<E -n a b\nE",
    ):
        seen = {plain_text(words) for words in reachable_commands(parse_shell(text))}
        assert "cat -n a b" in seen, text


def test_words_behind_a_redirection_belong_to_the_last_command_of_a_list() -> None:
    for text in ("a && cat <x b", "a || cat b >y", "! cat <x b", "a; cat <x b", "a | cat <x b", "(a; cat <x b) >y"):
        assert "cat b" in {plain_text(words) for words in reachable_commands(parse_shell(text))}, text


def test_spellings_reach_past_quotes_folders_and_the_order_of_flags() -> None:
    (words,) = parse_shell("/bin/'rm' -f x -r").commands
    assert set(spellings(words)) >= {"/bin/'rm' -f x -r", "/bin/rm -f x -r", "rm -f x -r", "rm -fr x"}
    (words,) = parse_shell("git -C sub --no-pager push origin").commands
    assert "git push origin" in spellings(words)


def test_an_allow_rule_sees_the_quotes() -> None:
    (words,) = parse_shell("git   'log'  -1").commands
    assert plain_text(words) == "git 'log' -1"


def test_the_scanner_keeps_what_it_cannot_close() -> None:
    assert [(word.raw, word.literal) for word in scan_words("a 'b")] == [("a", True), ("'b", False)]
    assert [(word.raw, word.literal) for word in scan_words('"b')] == [('"b', False)]
    assert [(word.raw, word.literal) for word in scan_words("b\\")] == [("b\\", False)]


def test_a_long_nest_is_answered_soon() -> None:
    for text in ("$(" * 3000, "$(" * 1500 + "a" + ")" * 1500, "(" * 9000, "env " * 2000 + "a", "`" * 9000):
        line = parse_shell(text)
        assert line.problem is not None or line.parts[0].wraps
        reachable_commands(line)


@pytest.mark.parametrize("line", ["time", "time ", "time -p", "ls && time"])
def test_time_without_a_command_is_not_understood(line: str) -> None:
    assert parse_shell(line).problem is not None


def test_time_with_a_command_is() -> None:
    assert parse_shell("time ls").problem is None


@pytest.mark.parametrize("line", ["ls x<(ls)", "ls $v\\;", "ls $va\\ b", "ls {\\;", "ls done<(ls)"])
def test_words_that_grammar_and_scanner_read_differently_are_not_understood(line: str) -> None:
    assert parse_shell(line).problem == "the words of the command can be read in two ways"


def test_a_line_of_sixty_commands_is_taken_apart_and_a_longer_one_is_not() -> None:
    assert len(parse_shell(";".join(["ls"] * 60)).parts) == 60
    assert parse_shell(";".join(["ls"] * 61)).problem == "the command holds more than 60 commands"
