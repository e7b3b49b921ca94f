"""What comes back after a compaction: files, invoked skills, plan, tasks and found tools, each from its owner and within its budget (R313, P19).

Decides what is restored and in which words; what did not fit is an `Omission` (R327). What a file holds now comes in as a value: nothing is copied
from the old conversation but the skills, which are texts of their own. What other owners tell at the tail (instruction files, listings, mode, date)
they tell again by themselves, since the new history does not hold it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from compositor.context.tokens import estimate_tokens
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry
from compositor.types.provenance import Omission, Source

FILES, FILE_TOKENS, FILES_TOKENS = 5, 5_000, 50_000
"""At most so many files (R317), tokens of one (R318) and of all (R319)."""

SKILL_TOKENS, SKILLS_TOKENS = 5_000, 25_000
"""Tokens of one invoked skill, and of all (R320)."""

STEP = "compaction.restore"
UNSHOWN = "text of "
"""How an omission begins that names a file which is too large to be shown (R324, R393)."""
PIN = "pinned"
_PINNED = "The user pinned this. It holds, word for word:\n\n"


class Restored(Struct, frozen=True, kw_only=True):
    """Notes for the new tail, in order, and what is not among them."""

    notes: tuple[TextAttachment, ...] = ()
    omissions: tuple[Omission, ...] = ()


class Exclusions(Struct, frozen=True, kw_only=True):
    """Files that are not restored (R326): still visible in kept messages, loaded as instruction files, or denied to reading."""

    visible: Collection[str] = ()
    instructions: Collection[str] = ()
    denied: Callable[[str], bool] = lambda _path: False

    def reason(self, path: str) -> str | None:
        if path in self.visible:
            return "it is visible in the messages that were kept"
        if path in self.instructions:
            return "it is an instruction file, which has its own place"
        return "a rule denies reading it" if self.denied(path) else None


def choose_files(seen: Mapping[str, str], exclusions: Exclusions) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """The newest eligible files, newest first, and why the others are not among them.

    `seen` has the absolute path of each file the model saw and when (ISO 8601).
    """
    chosen: list[str] = []
    omissions: list[Omission] = []
    for path in sorted(seen, key=lambda path: (seen[path], path), reverse=True):
        reason = exclusions.reason(path)
        if reason is None and len(chosen) == FILES:
            reason = f"only the {FILES} newest files are restored (R317)"
        if reason is None:
            chosen.append(path)
        else:
            omissions.append(_left_out(f"file {path}", reason, path))
    return tuple(chosen), tuple(omissions)


class Room(Struct, frozen=True, kw_only=True):
    """What may be handed over again, in tokens of the estimate at `scale`. Never more than the documented budgets."""

    files: int = FILES_TOKENS
    skills: int = SKILLS_TOKENS
    scale: float = 1.0


def plan_room(usable: int, scale: float = 1.0) -> Room:
    """In a small window files and skills get a quarter each of what a request may hold."""
    return Room(files=min(FILES_TOKENS, usable // 4), skills=min(SKILLS_TOKENS, usable // 4), scale=scale)


def restore_files(contents: Sequence[tuple[str, str | None]], room: Room = Room()) -> Restored:  # noqa: B008  (a frozen value)
    """The chosen files as they are now, numbered as Read shows them; a large one is only named (R324), one that is gone is left out."""
    notes: list[TextAttachment] = []
    omissions: list[Omission] = []
    total = 0
    for path, text in contents:
        if text is None:
            omissions.append(_left_out(f"file {path}", "it cannot be read any more", path))
            continue
        lines = text.splitlines()
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))
        size = estimate_tokens(shown.encode("utf-8", "replace"), room.scale)
        if size > FILE_TOKENS or total + size > room.files:
            limit = FILE_TOKENS if size > FILE_TOKENS else room.files
            notes.append(_reference(path, len(lines)))
            omissions.append(
                _left_out(f"{UNSHOWN}{path}", f"about {size:,} tokens do not fit {limit:,} (R318, R319)", path)
            )
            continue
        total += size
        head = f"{path} was read before the conversation was summarized. This is the file as it is now:"
        notes.append(TextAttachment(kind="file", path=path, text=f"{head}\n{shown}"))
    return Restored(notes=tuple(notes), omissions=tuple(omissions))


def restore_skills(skills: Mapping[str, str], room: Room = Room()) -> Restored:  # noqa: B008  (a frozen value)
    """The skills that were invoked, newest first: each cut at its budget, all within theirs (R320), labelled so that nothing is set up twice (R325).

    `skills` has name to text, oldest first.
    """
    notes: list[TextAttachment] = []
    omissions: list[Omission] = []
    total = 0
    for name, text in reversed(tuple(skills.items())):
        cut = cut_text(text, min(SKILL_TOKENS, room.skills - total), room.scale)
        if not cut:
            omissions.append(_left_out(f"skill {name}", f"all skills together get {room.skills:,} tokens (R320)"))
            continue
        total += estimate_tokens(cut.encode("utf-8", "replace"), room.scale)
        if cut != text:
            omissions.append(_left_out(f"the end of skill {name}", f"one skill gets {SKILL_TOKENS:,} tokens (R320)"))
            cut += "\n[The rest of this skill is left out. Its file has it.]"
        label = f"The skill {name!r} was invoked earlier in this session. Its set-up was done: do not run it again. Its text still applies:"
        notes.append(TextAttachment(kind="invoked_skills", name=name, text=f"{label}\n\n{cut}"))
    return Restored(notes=tuple(notes), omissions=tuple(omissions))


def restore_plan(path: str, text: str) -> Restored:
    """The plan that is being worked on, named and given in full where it is short enough (R321)."""
    if not text.strip():
        return Restored()
    cut = cut_text(text, FILE_TOKENS)
    omissions = () if cut == text else (_left_out("the end of the plan", f"a plan gets {FILE_TOKENS:,} tokens", path),)
    words = f"There is a plan for this work, in {path}. Follow it as far as it is still right:\n\n{cut}"
    return Restored(notes=(TextAttachment(kind="plan_file_reference", path=path, text=words),), omissions=omissions)


def restore_tasks(lines: Sequence[str]) -> Restored:
    """The list of what is to be done, as it stands (R321). Each line has its mark."""
    if not lines:
        return Restored()
    words = "\n".join(("The list of tasks as it stands:", *lines))
    return Restored(notes=(TextAttachment(kind="task_status", text=words),))


def restore_pins(texts: Sequence[str]) -> Restored:
    """What the user wants kept word for word, each once; it has no budget."""
    notes = (TextAttachment(kind=PIN, text=f"{_PINNED}{text}") for text in dict.fromkeys(texts))
    return Restored(notes=tuple(notes))


def pinned_texts(entries: Sequence[TranscriptEntry]) -> tuple[str, ...]:
    """What was pinned so far."""
    notes = (entry.attachment for entry in entries if isinstance(entry, AttachmentEntry))
    return tuple(
        note.text.removeprefix(_PINNED) for note in notes if isinstance(note, TextAttachment) and note.kind == PIN
    )


def open_todos(entries: Sequence[TranscriptEntry]) -> tuple[str, ...]:
    """The open items of the newest TodoWrite call, a line each; that list lives in the conversation alone."""
    for entry in reversed(entries):
        for block in reversed(entry.content if isinstance(entry, AssistantEntry) else ()):
            if isinstance(block, ToolUseBlock) and block.name == "TodoWrite":
                return _todo_lines(block)
    return ()


def _todo_lines(block: ToolUseBlock) -> tuple[str, ...]:
    try:
        todos = msgspec.json.decode(block.input, type=_Todos).todos
    except msgspec.MsgspecError:
        return ()
    marks = {"pending": "[ ]", "in_progress": "[>]"}
    return tuple(f"{marks[todo.status]} {todo.content}" for todo in todos if todo.status in marks)


class _Todo(Struct, frozen=True):
    content: str
    status: str


class _Todos(Struct, frozen=True):
    todos: tuple[_Todo, ...]


def join_restored(*parts: Restored) -> Restored:
    return Restored(
        notes=tuple(note for part in parts for note in part.notes),
        omissions=tuple(omission for part in parts for omission in part.omissions),
    )


def cut_text(text: str, tokens: int, scale: float = 1.0) -> str:
    """As many whole lines of `text` as fit; one that is too long by itself is cut within."""
    if tokens <= 0:
        return ""
    lines = text.splitlines()

    def size(count: int) -> int:
        return estimate_tokens("\n".join(lines[:count]).encode("utf-8", "replace"), scale)

    if size(len(lines)) <= tokens:
        return text
    fitting = bisect.bisect_right(range(len(lines)), tokens, key=size) - 1
    return "\n".join(lines[:fitting]) or text[: tokens // 2]


def _reference(path: str, lines: int) -> TextAttachment:
    words = f"{path} ({lines:,} lines) was read before the conversation was summarized. It is too large to be shown here: read what you need of it."
    return TextAttachment(kind="compact_file_reference", path=path, text=words)


def _left_out(what: str, reason: str, path: str | None = None) -> Omission:
    return Omission(what, reason, STEP, Source("attachment", what, path))
