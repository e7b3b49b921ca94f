"""Commands that run another command, variables that change what programs do, and builtins that change the shell itself.

Decides which wrappers are taken off before an allow rule looks (project-conventions 3.3), and which names are known to be harmless
to assign. Declared tables; never decides a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from .words import Word

RESERVED = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then until while".split()
)
# Commands that run another command, or change what later words mean: a rule about their name says nothing about their effect.
WRAPPERS = frozenset(
    ". alias ash bash builtin busybox bwrap chroot chrt command csh dash doas enable env eval exec export fakeroot fish "
    "flock gdb ionice ksh let ltrace mksh nice nocorrect noglob nohup nsenter parallel pkexec proot runuser script "
    "setarch setpriv setsid sh source ssh stdbuf strace su sudo systemd-run taskset tcsh time timeout torsocks trap "
    "unbuffer unshare watch xargs xvfb-run zsh".split()
)
SCRIPT_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})

# Names that only choose output, place or speed. A lower-case name is the shell's own business, but for the proxies.
_HARMLESS = frozenset(
    "AWS_DEFAULT_REGION AWS_PROFILE AWS_REGION CARGO_TERM_COLOR CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE COLUMNS DEBUG FORCE_COLOR "
    "GOARCH GOOS LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR PORT "
    "PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUNBUFFERED PYTHONUTF8 RAILS_ENV RUST_BACKTRACE RUST_LOG TERM TZ".split()
)
_LOCAL_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_OUTSIDE_NAMES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})

# Builtins whose effect outlives them: beside other commands they decide what those do.
_STATE = frozenset(
    "alias bind complete compgen declare dirs enable getopts hash let local mapfile popd pushd readarray readonly shopt "
    "typeset ulimit umask unalias unset".split()
)
_SET_FLAGS = re.compile(r"(?:-[eux]+|-[eux]*o|pipefail|errexit|nounset)\Z")
_SETTERS = frozenset({"printf", "read", "test", "["})

# For each wrapper that is taken off: its flags without a value, those with one, and the operands in front of the command.
_TAKEN_OFF: dict[str, tuple[frozenset[str], frozenset[str], int]] = {
    "builtin": (frozenset(), frozenset(), 0),
    "command": (frozenset(), frozenset(), 0),
    "nice": (frozenset(), frozenset({"-n"}), 0),
    "noglob": (frozenset(), frozenset(), 0),
    "nohup": (frozenset(), frozenset(), 0),
    "stdbuf": (frozenset("-oL -o0 -eL -e0 -i0 -iL".split()), frozenset({"-i", "-o", "-e"}), 0),
    "time": (frozenset({"-p"}), frozenset(), 0),
    "timeout": (frozenset("--foreground --preserve-status -v --verbose".split()), frozenset({"-k", "-s"}), 1),
    "xargs": (frozenset(), frozenset(), 0),
}


class Peeled(Struct, frozen=True):
    """A command behind its wrappers. `wraps`: what stands first still runs something else."""

    words: tuple[Word, ...]
    wraps: bool = False
    open_ended: bool = False


def peel_wrappers(words: tuple[Word, ...]) -> Peeled:
    """Take off what only times, limits or buffers a command; bare `xargs` leaves a command with operands from its input."""
    open_ended = False
    while words[0].literal and words[0].raw in _TAKEN_OFF:
        rest = _behind(words)
        if rest is None:
            looks_up = words[0].raw == "command" and len(words) > 2 and words[1].raw in {"-v", "-V"}
            return Peeled(words, wraps=not looks_up, open_ended=open_ended)
        open_ended = open_ended or words[0].raw == "xargs"
        words = rest
    return Peeled(words, open_ended=open_ended)


def _behind(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The words behind one wrapper, `None` where it is used in a way that is not listed."""
    flags, valued, operands = _TAKEN_OFF[words[0].raw]
    at = 1
    while at < len(words) and words[at].raw.startswith("-"):
        if words[at].raw in valued:
            at += 2
        elif words[at].raw in flags:
            at += 1
        else:
            return None
    at += operands
    taken = words[:at]
    return words[at:] if at < len(words) and all(word.literal for word in taken) else None


def is_harmless_variable(name: str, *, exported: bool = False) -> bool:
    """Whether this name can be set without making a program read, run or reach anything else.

    `exported`: programs see it for certain, so that only listed names will do (`npm_config_script_shell=x npm test` runs `x`).
    """
    return name in _HARMLESS or (not exported and _LOCAL_NAME.match(name) is not None and name not in _OUTSIDE_NAMES)


def check_state(commands: Sequence[tuple[Word, ...]]) -> None:
    """Raises `ValueError` when one command of the line changes what the others mean."""
    if len(commands) < 2:
        return
    for words in commands:
        name, rest = words[0].text, words[1:]
        if name in _STATE:
            raise ValueError(f"{name!r} changes what the other commands do")
        if name == "set" and not all(word.literal and _SET_FLAGS.match(word.text) for word in rest):
            raise ValueError("'set' changes what the other commands do")
        if name == "cd" and not (len(rest) < 2 and all(word.literal and word.text != "-" for word in rest)):
            raise ValueError("where 'cd' leads cannot be seen")
        if name in _SETTERS and not _sets_only_local(name, rest):
            raise ValueError(f"{name!r} may set a variable that programs read")


def _sets_only_local(name: str, rest: tuple[Word, ...]) -> bool:
    if name == "read":
        named = [word.text for word in rest if not word.text.startswith("-")]
        flags = [word.text for word in rest if word.text.startswith("-")]
        return all(is_harmless_variable(text) for text in named) and set(flags) <= {"-r"} and bool(named)
    return not rest or (rest[0].literal and not any(word.known.startswith("-v") for word in rest))
