"""Programs that run a command given to them among their own words, and programs whose words are code.

Decides where inside a command another one may begin, for deny and ask rules, which reach far. Declared tables; they allow nothing, and a
program that is not in them is a limit of the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .words import Word, scan_words

EXECUTING_FLAGS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""Flags of `find` behind which a command stands, in any command."""
INPUT_RUNNERS = frozenset({"at", "batch"})
"""Programs that run what they are given as input, beside the shells."""

# For each program the words behind which a command may begin; `None` where that is right behind its name.
_RUNNERS: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(
        "at batch bunx chronic dbus-run-session dumb-init entr faketime firejail gosu hyperfine ld.so npx numactl perf pnpx proxychains "
        "proxychains4 screen tini toybox tsocks uvx valgrind".split()
    ),
    **dict.fromkeys(("nc", "ncat", "netcat"), frozenset({"-e", "-c", "--exec", "--sh-exec"})),
    **dict.fromkeys(("docker", "podman"), frozenset({"run", "exec"})),
    **dict.fromkeys(("fd", "fdfind"), frozenset({"-x", "-X", "--exec", "--exec-batch"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"exec", "x", "dlx"})),
    **dict.fromkeys(("conda", "mamba", "micromamba", "devbox", "hatch", "pdm", "pipenv", "pipx", "poetry", "rye", "uv"), frozenset({"run"})),
    **dict.fromkeys(("bundle", "direnv", "kubectl", "oc"), frozenset({"exec"})),
    **dict.fromkeys(("mise", "asdf", "rtx"), frozenset({"exec", "x"})),
    **dict.fromkeys(("nix", "nix-shell"), frozenset({"-c", "--command", "--run"})),
    "tmux": frozenset({"new", "new-session", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell", "send-keys"}),
    "git": frozenset(
        {"foreach", "run", "-x", "--exec", "--extcmd", "--tree-filter", "--index-filter", "--msg-filter"}
    ),
}  # fmt: skip
# Programs some of whose words are code, or options that hold a command.
_READS_CODE = frozenset(
    "awk bun deno emacs ex expect gawk gdb gsed less lldb lua luajit make man mawk more mysql nawk node nodejs nvim osascript perl "
    "php psql python python2 python3 rsync ruby scp screen sed socat sqlite3 tar tclsh tmux vi view vim".split()
)
_CODE_CUTS = re.compile(r"""[;&|\n\r(){}\[\],`<>"'$!=+:]+""")
_LOOKS_LIKE_CODE = re.compile(r"""[\s(`!="']""")


# A script of `sed` that runs something: the command `e`, or the flag `e` of a replacement.
_SED_RUNS = re.compile(r"(?:\A|[;{}\n])[\d,$~!\s]*(?:e(?:\s|\Z)|s(\W)[^\n]*\1[^\n]*\1[A-Za-z0-9]*e)")


def runs_unseen(words: tuple[Word, ...]) -> bool:
    """Whether the command runs text that stands nowhere in the line: what `sed` has read."""
    name = words[0].text.rsplit("/", 1)[-1]
    return name in {"sed", "gsed"} and any(_SED_RUNS.search(word.text) for word in words[1:])


def command_starts(words: tuple[Word, ...]) -> tuple[int, ...]:
    """Where in the words another command may begin; all that follows a mark, since flags may stand before the command."""
    name = words[0].text.rsplit("/", 1)[-1]
    if name not in _RUNNERS and not name.startswith("ld-linux"):
        return ()
    marks = _RUNNERS.get(name)
    first = next((at for at, word in enumerate(words) if marks is None or (at and word.text in marks)), len(words))
    return tuple(range(first + 1, len(words)))


def code_commands(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """What may be a command in a word that is code: every piece of it, with and without its first word."""
    name = words[0].text.rsplit("/", 1)[-1]
    for at, word in enumerate(words[1:], 1):
        is_code = name in _READS_CODE or (name == "git" and words[at - 1].text == "-c")
        if not is_code or _LOOKS_LIKE_CODE.search(word.text) is None:
            continue
        for piece in _CODE_CUTS.split(word.text):
            inner = scan_words(piece)
            yield from (inner[start:] for start in (0, 1) if len(inner) > start)
