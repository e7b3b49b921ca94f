"""What the model is told at the tail beside prompts and results: collected notes, the words of hooks, and what others said.

Decides only the order: what was collected first, then what others said, then hooks. Each becomes an entry behind the one before it.
"""

from __future__ import annotations

from collections.abc import Callable

from compositor.loop.answer_form import TRIES, AnswerForm, correction, read_answer
from compositor.loop.session import Conversation, Stamp, note_entries
from compositor.ports import Collector, Moment
from compositor.runtime.collect import collect_notes
from compositor.runtime.events import NotesCollected, Watcher
from compositor.runtime.hooks import Hooks
from compositor.types.attachments import Attachment, QueuedInput, TextAttachment
from compositor.types.entries import AttachmentEntry

FORM_KIND = "answer_form"
"""The kind of the notes that ask for the form of an answer."""


class Tail:
    """One session's. `prompt` is what the turn was begun with, `form` what its last answer has to be."""

    def __init__(
        self,
        collector: Collector | None,
        hooks: Hooks | None,
        watch: Watcher,
        stamp: Callable[[], Stamp],
        form: AnswerForm | None = None,
    ) -> None:
        self._collector = collector
        self._hooks = hooks
        self._watch = watch
        self._stamp = stamp
        self._received: list[QueuedInput] = []
        self._form = form
        self._form_notes: list[TextAttachment] = []
        self._corrections = 0
        self._begun = False
        self.prompt = ""

    def receive(self, said: QueuedInput) -> None:
        self._received.append(said)

    async def collect(
        self, conversation: Conversation, reached: tuple[str, ...], parent: str
    ) -> tuple[AttachmentEntry, ...]:
        """What the model should be told next, as entries behind `parent`: from the collectors, from others, from hooks (R374, R377)."""
        notes: tuple[AttachmentEntry, ...] = ()
        if self._collector is not None:
            told = tuple(conversation.prefix.notes)
            found = await collect_notes(self._collector, Moment(prompt=self.prompt, reached=reached, told=told))
            if found.attachments or found.diagnostics:
                self._watch(NotesCollected(found.attachments, found.diagnostics))
            notes = note_entries(found.attachments, stamp=self._stamp, parent=parent)
        return (*notes, *self.said(notes[-1].uuid if notes else parent))

    def said(self, parent: str) -> tuple[AttachmentEntry, ...]:
        """What others and hooks said since the last request."""
        hooks = self._hooks
        said = () if hooks is None else hooks.take_notes()
        notes: tuple[Attachment, ...] = (*self._received, *said, *self._form_notes)
        self._received, self._form_notes = [], []
        return note_entries(notes, stamp=self._stamp, parent=parent)

    async def hear(self, prompt: str, conversation: Conversation) -> str | None:
        """Why the prompt may not go to the model (R375). The first prompt of a session is heard by its start hooks too."""
        self.prompt, hooks, self._corrections = prompt, self._hooks, 0
        self._form_notes = [] if self._form is None else [TextAttachment(kind=FORM_KIND, text=self._form.instruction)]
        if hooks is None:
            return None
        if not self._begun:
            self._begun = True
            source = "resume" if conversation.leaf is not None else "startup"
            await hooks.on_start(source, conversation.options.model)
        return await hooks.on_prompt(prompt) or hooks.take_stop()

    async def kept_going(self, conversation: Conversation, text: str) -> tuple[AttachmentEntry, ...]:
        """What the model is told so that it goes on, by a Stop hook or because its answer has not the form asked for; nothing when the turn may end."""
        hooks, leaf = self._hooks, conversation.leaf
        if leaf is None:
            return ()
        if hooks is not None and await hooks.on_stop(text) is not None:
            return self.said(leaf)
        problem = "" if self._form is None else read_answer(self._form, text).problem
        if not problem or self._corrections >= TRIES:
            return ()
        self._corrections += 1
        self._form_notes.append(TextAttachment(kind=FORM_KIND, text=correction(problem)))
        return self.said(leaf)
