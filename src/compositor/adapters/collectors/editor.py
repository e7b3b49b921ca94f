"""Takes what an editor shows into the conversation: the selection and the open file with a prompt, diagnostics whenever they change (R189).

Performs the asking. What may not be read is held back before any of it is used, and the user is told so (R397, F23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anyio import to_thread

from compositor.context.attachments.editor import DIAGNOSTICS_CHARACTERS, SELECTION_CHARACTERS
from compositor.ports import Editor
from compositor.types.attachments import FileAttachment, TextAttachment
from compositor.types.collected import Collected, Moment, Occasion
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.editor import EditorFacts, Report, Selection

SELECTION, OPENED, DIAGNOSTICS = "selected_lines_in_ide", "opened_file", "diagnostics"

STALE_SECONDS = 3_600.0
"""What an editor said longer ago is not told any more."""


class EditorCollector:
    """`may_read` says whether a path may be shown."""

    def __init__(self, editor: Editor, may_read: Callable[[str], bool]) -> None:
        self._editor = editor
        self._may_read = may_read

    async def collect(self, moment: Moment) -> Collected:
        facts = await to_thread.run_sync(self._editor.facts, abandon_on_cancel=True)
        if facts is None:
            return Collected()
        if facts.age > STALE_SECONDS:
            return Collected(stale=f"the editor said it {facts.age / 60:,.0f} minutes ago")
        notes: list[TextAttachment | FileAttachment] = []
        held: list[str] = []
        if moment.occasion is Occasion.SUBMISSION:
            notes += self._selection(facts.selection, held)
            notes += self._opened(facts, moment.told, held)
        notes += self._diagnostics(facts.diagnostics, moment.told, held)
        return Collected(attachments=tuple(notes), diagnostics=tuple(map(_held_back, dict.fromkeys(held))))

    def _selection(self, selection: Selection | None, held: list[str]) -> Iterable[FileAttachment]:
        if selection is None or not selection.text or not self._visible(selection.path, held):
            return
        text = selection.text[:SELECTION_CHARACTERS]
        yield FileAttachment(
            kind=SELECTION,
            path=selection.path,
            text=text.rstrip("\n"),
            first=selection.first,
            total=selection.last,
        )

    def _opened(self, facts: EditorFacts, told: Iterable[TextAttachment], held: list[str]) -> Iterable[TextAttachment]:
        if not facts.open or not self._visible(facts.open, held):
            return
        last = [note.path for note in told if note.kind == OPENED][-1:]
        if last != [facts.open]:
            text = f"The user has {facts.open} open in the editor. That may or may not have to do with the prompt."
            yield TextAttachment(kind=OPENED, path=facts.open, text=text)

    def _diagnostics(
        self, reports: Iterable[Report], told: Iterable[TextAttachment], held: list[str]
    ) -> Iterable[TextAttachment]:
        lines = [_line(report) for report in reports if self._visible(report.path, held)]
        last = next((note.text for note in reversed(list(told)) if note.kind == DIAGNOSTICS), _NONE)
        text = _worded(lines) if lines else _NONE
        if text != last:
            yield TextAttachment(kind=DIAGNOSTICS, text=text)

    def _visible(self, path: str, held: list[str]) -> bool:
        if self._may_read(path):
            return True
        held.append(path)
        return False


_NONE = "The editor reports no problems any more."


def _worded(lines: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > DIAGNOSTICS_CHARACTERS:
            kept.append(f"[{len(lines) - len(kept)} more]")
            break
        kept.append(line)
    return "The editor reports these problems:\n" + "\n".join(kept)


def _line(report: Report) -> str:
    source = f" [{report.source}]" if report.source else ""
    return f"{report.path}:{report.line}: {report.severity}: {' '.join(report.message.split())}{source}"


def _held_back(path: str) -> Diagnostic:
    message = f"What the editor shows of {path} was held back: a rule denies reading it"
    return Diagnostic("editor.held_back", message, where=path, severity=Severity.INFO, step="collect")
