"""What is put into a prompt beside words: long texts and pictures, each as a mark in the line that is typed.

Decides when a paste becomes a mark, and gives the marks their contents back when the prompt is sent.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from compositor.adapters.files import FileBytes, read_file
from compositor.adapters.pictures import clipboard_image
from compositor.adapters.tools.results import Problem
from compositor.context.transcript.references import Draft, Inline, expand, mark
from compositor.types.attachments import MediaAttachment

LONGEST_INLINE = 800
"""Characters of a paste that are typed as they are."""

MOST_LINES = 8
CLIPBOARD_SECONDS = 5
LARGEST_PICTURE = 32 * 1024 * 1024
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp)\Z", re.IGNORECASE)
_PICTURE_MARK = re.compile(r"\[Image #(\d+)\]")

# The programs that give a picture of the clipboard, in the order in which they are tried.
CLIPBOARDS: Final[tuple[tuple[str, ...], ...]] = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)


class Submission(Struct, frozen=True, kw_only=True):
    """A prompt as it is sent: `typed` is the line with its marks, `text` with their contents; `pastes` are those contents by number."""

    typed: str
    text: str
    pastes: Mapping[int, str] = {}
    pictures: tuple[MediaAttachment, ...] = ()


class Pastes:
    """The marks of one session; numbers are never given twice. `earlier` gives what a mark of an earlier prompt stands for."""

    def __init__(self, earlier: Callable[[int], str | None] = lambda _number: None) -> None:
        self._texts: dict[int, str] = {}
        self._pictures: dict[int, MediaAttachment] = {}
        self._earlier = earlier

    def take(self, pasted: str) -> str:
        """What is typed for a paste: the text itself, a mark for a long one, a mark for the path of a picture (that is how one is dropped)."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        picture = _dropped(text)
        if picture is not None:
            found = self.picture(picture)
            if isinstance(found, str):
                return found
        if len(text) <= LONGEST_INLINE and text.count("\n") < MOST_LINES:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        return mark(number)

    def picture(self, data: bytes) -> str | Problem:
        """The mark of a picture, or why it is none."""
        found = clipboard_image(data)
        if isinstance(found, Problem):
            return found
        number = len(self._pictures) + 1
        self._pictures[number] = found
        return f"[Image #{number}]"

    def submission(self, typed: str) -> Submission:
        """The line with its contents; a mark that stands for nothing stays as it is."""
        numbers = {int(found) for found in re.findall(r"\[Pasted #(\d{1,9})\]", typed)}
        pastes = {n: text for n in sorted(numbers) if (text := self._texts.get(n) or self._earlier(n)) is not None}
        draft = Draft(text=typed, pastes={number: Inline(text) for number, text in pastes.items()})
        shown = dict.fromkeys(int(number) for number in _PICTURE_MARK.findall(typed))
        return Submission(
            typed=typed,
            text=expand(draft, lambda _reference: None),
            pastes=pastes,
            pictures=tuple(self._pictures[number] for number in shown if number in self._pictures),
        )


def read_clipboard(environ: Mapping[str, str]) -> bytes | Problem:
    """The picture on the clipboard, or why there is none."""
    tried = [words for words in CLIPBOARDS if shutil.which(words[0], path=environ.get("PATH"))]
    if not tried:
        names = ", ".join(words[0] for words in CLIPBOARDS)
        return Problem(
            f"The clipboard cannot be read: none of {names} is installed. Drop the file of the picture instead."
        )
    for words in tried:
        try:
            ran = subprocess.run(words, capture_output=True, timeout=CLIPBOARD_SECONDS, check=True, env=dict(environ))  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            continue
        if ran.stdout:
            return ran.stdout[: LARGEST_PICTURE + 1]
    return Problem("There is no picture on the clipboard.")


def _dropped(text: str) -> bytes | None:
    """The picture whose path, quoted or escaped as terminals do it, is all that was pasted."""
    name = text.strip()
    if not name or "\n" in name or not _PICTURE.search(name.strip("'\"")):
        return None
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    elif name[0] in "'\"" and name[-1] == name[0]:
        name = name[1:-1]
    else:
        name = re.sub(r"\\(.)", r"\1", name)
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - keeps a name with `~` inside as it is
    found = read_file(str(path), LARGEST_PICTURE)
    return found.data if isinstance(found, FileBytes) else None
