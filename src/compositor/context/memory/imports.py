"""Where an import leads, and whether it may be followed (R133, R135 to R139).

Decides the target and the refusal. Never touches a file: a path that is refused by its spelling is never even looked up.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname, join, normpath

from msgspec import Struct

from compositor.types.memory import MemoryLevel

from .extensions import is_markdown_name, is_text_name
from .facts import MemoryPlace


class Guards(Struct, frozen=True, kw_only=True):
    """The three guards of R139. Only a test that shows what each one stops turns one off."""

    once: bool = True
    depth: int = 5
    resolves_links: bool = True


GUARDS = Guards()


def import_target(spec: str, importer: str, home: str | None) -> str | None:
    """The absolute, normalized path that `@spec` in the file `importer` means; `None` when there is no home for `~/`."""
    if spec.startswith("~/"):
        return normpath(join(home, spec[2:])) if home else None
    return _one_root(normpath(join(dirname(importer), spec)))


def refused_name(path: str) -> str | None:
    """Why a file of this name is never imported; `None` when it may be (R142)."""
    return None if is_text_name(path) else "its name is not on the list of text file types"


def is_trusted(level: MemoryLevel, importer_real: str, place: MemoryPlace) -> bool:
    """Whether imports may lead anywhere: so in files of user and administrator, not in a project's file that one of them imported."""
    if level not in {MemoryLevel.MANAGED, MemoryLevel.USER}:
        return False
    own = (*place.managed, place.config_home, place.config_home_real)
    return any(root and is_inside(importer_real, root) for root in own) or not is_inside(
        importer_real, place.project_root
    )


def is_allowed(path: str, base: str, place: MemoryPlace) -> bool:
    """Whether a project's file may import `path` without approval (R138).

    Allowed is what lies in the project, beside or below the file that the chain began with (`base`), in an additional directory or under
    an approval; and Markdown in the user's configuration folder, where other file types may hold secrets.
    """
    if any(is_inside(path, root) for root in (place.project_root, place.cwd, base, *place.extra, *place.approved)):
        return True
    config_homes = (root for root in (place.config_home, place.config_home_real) if root)
    return is_markdown_name(path) and any(is_inside(path, root) for root in config_homes)


def is_refused(path: str, place: MemoryPlace) -> bool:
    """Whether the person has said no to this file, or to a folder above it, before (R138)."""
    return any(is_inside(path, root) for root in place.refused)


def is_inside(path: str, root: str) -> bool:
    """Whether the normalized `path` is `root` or lies below it."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def by_bytes(paths: Iterable[str]) -> list[str]:
    """Sorted by the bytes of the path, which no locale changes (R147)."""
    return sorted(paths, key=lambda path: path.encode("utf-8", "surrogateescape"))


def _one_root(path: str) -> str:
    # POSIX lets two leading slashes mean something else; here they never do.
    return f"/{path.lstrip('/')}" if path.startswith("//") else path
