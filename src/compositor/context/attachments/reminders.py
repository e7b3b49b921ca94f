"""Reminders with counters of their own: the mode that holds, and a list of tasks that nobody has looked at for a while (R188, R344, R366).

Decides when each is due and what it says. A reminder makes nothing true: what a mode forbids is refused by the gate, with and without these words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry
from compositor.types.persistent import Rope
from compositor.types.verdicts import PermissionMode

MODE_ANSWERS = 15
"""Answers of the model after which a mode is told again."""
TASK_ANSWERS = 10
"""Answers of the model without a look at the list, and between two reminders of it."""

STYLE = "output_style"
TODO_TOOLS = frozenset({"TodoWrite"})
TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})


class ModeWords(Struct, frozen=True, kw_only=True):
    """What is said of a mode: when it begins, when it goes on, and when it ends."""

    kind: str
    begins: str
    goes_on: str
    ends: str

    @property
    def exit_kind(self) -> str:
        return f"{self.kind}_exit"


MODES: Mapping[PermissionMode, ModeWords] = {
    PermissionMode.PLAN: ModeWords(
        kind="plan_mode",
        begins=(
            "Plan mode is on. Change nothing: no edit, no command that writes, no commit. Look around with the tools that read, ask where a choice "
            "is the user's, and work out what should be done, where, in which order, and how it is checked. Then hand in the whole plan with "
            "ExitPlanMode; where that is not offered, answer with the plan. Edits and writing commands are refused until the user approves."
        ),
        goes_on="Plan mode is still on: read, plan, change nothing, and hand in the plan.",
        ends="Plan mode is off: changes may be made again.",
    ),
    PermissionMode.AUTO: ModeWords(
        kind="auto_mode",
        begins=(
            "Auto mode is on: edits inside the project and its build and test commands run without a question. Go on by yourself, and take the way "
            "that can be undone. What is refused stays refused: do not look for a way around it."
        ),
        goes_on="Auto mode is still on.",
        ends="Auto mode is off: the user is asked again.",
    ),
}


def mode_notes(
    mode: PermissionMode, told: Sequence[TextAttachment], entries: Rope[TranscriptEntry]
) -> tuple[TextAttachment, ...]:
    """What has to be said of the mode that holds now, in the order of ending and beginning."""
    ending, beginning = [], []
    for held, words in MODES.items():
        last = next((note.kind for note in reversed(told) if note.kind in {words.kind, words.exit_kind}), None)
        if held is not mode:
            if last == words.kind:
                ending.append(TextAttachment(kind=words.exit_kind, text=words.ends))
        elif last != words.kind:
            beginning.append(TextAttachment(kind=words.kind, text=words.begins))
        elif _answers_since(entries, words.kind) >= MODE_ANSWERS:
            beginning.append(TextAttachment(kind=words.kind, text=words.goes_on))
    return (*ending, *beginning)


def style_notes(style: str, entries: Rope[TranscriptEntry]) -> tuple[TextAttachment, ...]:
    """A reminder of the output style, which stands far above by then; `style` is its name, empty for the default one."""
    if not style or _answers_since(entries, STYLE) < MODE_ANSWERS:
        return ()
    text = f"The output style {style!r} of the system prompt still holds."
    return (TextAttachment(kind=STYLE, name=style, text=text),)


def list_notes(
    open_lines: Callable[[], Sequence[str]], tools: Collection[str], entries: Rope[TranscriptEntry]
) -> tuple[TextAttachment, ...]:
    """A reminder of the open items of a list whose tools, all of one kind, were not used for a while. The items are asked for when one is due."""
    family = TODO_TOOLS if TODO_TOOLS & set(tools) else TASK_TOOLS
    if not family & set(tools):
        return ()
    kind = "todo_reminder" if family is TODO_TOOLS else "task_reminder"
    if min(_answers_since(entries, kind), _answers_since(entries, "", family)) < TASK_ANSWERS:
        return ()
    lines = open_lines()
    if not lines:
        return ()
    opening = "The list of what is to be done has not been touched for a while. Where it is out of date, bring it up to date; otherwise go on:"
    return (TextAttachment(kind=kind, text="\n".join((opening, *lines))),)


def _answers_since(entries: Rope[TranscriptEntry], kind: str, tools: Collection[str] = ()) -> int:
    """Answers behind the newest note of `kind` or call of one of `tools`; all of them when there is neither."""
    answers = 0
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if isinstance(entry, AttachmentEntry) and entry.attachment.kind == kind:
            return answers
        if isinstance(entry, AssistantEntry):
            if any(isinstance(block, ToolUseBlock) and block.name in tools for block in entry.content):
                return answers
            answers += 1
            if answers >= max(MODE_ANSWERS, TASK_ANSWERS):
                return answers
    return answers
