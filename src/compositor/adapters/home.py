"""The product's own folder: where it lies, and how private files are made in it.

Decides places and modes: folders 0700, files 0600, whatever the umask. Never decides what is stored, and never touches a
folder that is not the product's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from compositor.errors import ConfigError, UsageError

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def find_home(environ: Mapping[str, str]) -> Path:
    """`COMPOSITOR_HOME`, else `~/.compositor`, as an absolute path that may not exist yet."""
    chosen = environ.get("COMPOSITOR_HOME", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    return Path(environ.get("HOME") or Path.home()).absolute() / ".compositor"


def private_folder(home: Path, *names: str) -> Path:
    """The folder `names` below `home`, made when missing, closed to others when it was open.

    An existing home keeps its mode: a person may have chosen a shared folder. What lies in it is private all the same.
    """
    folder = home
    try:
        home.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        for name in names:
            folder /= name
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            if folder.stat().st_mode & 0o077:
                folder.chmod(FOLDER_MODE)
    except OSError as problem:
        raise ConfigError(
            f"The product's own folder cannot be made: {problem.strerror}",
            where=str(folder),
            hint="Let COMPOSITOR_HOME name a folder that can be written",
        ) from problem
    return folder


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file that only its owner can read; made when missing."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    if os.fstat(descriptor).st_mode & 0o077:
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def write_private(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace `path` by `data` at once: a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = open_private(temporary, os.O_WRONLY | os.O_TRUNC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the folder's own entries on the disk, so that a new name in it survives a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def project_key(cwd: str) -> str:
    """The folder name for a project: readable, and different for different real paths."""
    real = unicodedata.normalize("NFC", os.path.realpath(cwd))
    digest = hashlib.sha256(real.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9]+", "-", real).strip("-")[-80:] or "root"
    return f"{readable}-{digest}"


def session_file(folder: Path, session_id: str) -> Path:
    """The file of a session in its project's folder. Raises `UsageError` for an id that is no plain name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", session_id):
        raise UsageError(f"{session_id!r} is not a session id", hint="Take one from 'compositor sessions'")
    return folder / f"{session_id}.jsonl"


def session_files(home: Path, key: str | None = None) -> Iterator[Path]:
    """The session files of one project, or of all, in no particular order. A missing folder has none."""
    for folder in session_folders(home, key):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from [path for path in folder.iterdir() if path.suffix == ".jsonl"]


def session_folders(home: Path, key: str | None = None) -> list[Path]:
    """The folder of one project's sessions, or those of all; none where there are none yet."""
    root = home / "sessions"
    if key is not None:
        return [root / key]
    try:
        with os.scandir(root) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
