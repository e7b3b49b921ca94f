"""Gives up rights with Landlock and becomes the command: `restrict.py PLAN COMMAND...`, where PLAN is a JSON file.

A program of its own, started without site packages. Decides nothing: `read` lists what stays readable (`null`: all), `write` what stays writable.
"""

import ctypes
import json
import os
import stat
import sys
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_NO_NEW_PRIVS = 38
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 2, 1 << 14, 1 << 13
_WRITE_FOLDER = sum(1 << bit for bit in range(4, 13))  # remove and make files, folders, links, sockets, devices
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract sockets and signals of processes outside
_NET_SINCE, _SCOPES_SINCE = 4, 6

_libc = ctypes.CDLL(None, use_errno=True)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The version of Landlock of this kernel, 0 where there is none."""
    return max(0, int(_libc.syscall(_CREATE, None, 0, 1)))


def restrict(read: "list[str] | None", write: "list[str]") -> None:
    """Keep only these rights, for this process and all it starts. Raises `OSError`."""
    found, writing = version(), _WRITE_FILE | _WRITE_FOLDER | _REFER | _TRUNCATE
    handled = writing | (0 if read is None else _READ_FILE)
    fields = (ctypes.c_uint64 * 3)(
        handled, _TCP if found >= _NET_SINCE else 0, _SCOPES if found >= _SCOPES_SINCE else 0
    )
    size = 24 if found >= _SCOPES_SINCE else 16 if found >= _NET_SINCE else 8
    ruleset = _checked(_libc.syscall(_CREATE, fields, size, 0))
    for path in read or ():
        _grant(ruleset, path, _READ_FILE)
    for path in write:
        _grant(ruleset, path, writing)
    _checked(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # it is gone: nothing to grant
    if not stat.S_ISDIR(os.fstat(parent).st_mode):
        rights &= _WRITE_FILE | _READ_FILE | _TRUNCATE
    _checked(_libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(_Beneath(rights, parent)), 0))
    os.close(parent)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def main() -> None:
    """Read the plan, restrict, and become the command. Nothing runs when a step fails."""
    name, *command = sys.argv[1:]
    plan = json.loads(Path(name).read_bytes())
    os.environ["TMPDIR"] = plan["temporary"]
    try:
        restrict(plan["read"], plan["write"])
    except OSError as problem:
        sys.exit(f"the command was not run: Landlock could not confine it: {problem}")
    os.execvp(command[0], command)  # noqa: S606  # what runs was decided by the gate


if __name__ == "__main__":
    main()
