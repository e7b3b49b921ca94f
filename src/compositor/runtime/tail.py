"""What the model is told at the tail beside prompts and results: collected notes, the words of hooks, and what others said.

Decides only the order: what was collected first, then skills, then what others said, then hooks. Each becomes an entry behind the one before it.
"""

from __future__ import annotations

from collections.abc import Callable

from compositor.loop.answer_form import TRIES, correction, read_answer
from compositor.loop.effects import EndReason, EndTurn
from compositor.loop.session import Conversation, Stamp, note_entries
from compositor.runtime.events import NotesCollected, TypedJoined
from compositor.runtime.parts import Parts
from compositor.types.attachments import Attachment, QueuedInput, TextAttachment
from compositor.types.collected import Moment, Occasion
from compositor.types.entries import AttachmentEntry
from compositor.types.gathering import Gathered
from compositor.types.origin import Origin

FORM_KIND = "answer_form"
"""The kind of the notes that ask for the form of an answer."""


class Tail:
    """One session's. `prompt` is what the turn was begun with, `form` what its last answer has to be."""

    def __init__(self, parts: Parts, stamp: Callable[[], Stamp]) -> None:
        self._collection = parts.collection
        self._hooks = parts.hooks
        self._watch = parts.watch
        self._typed = parts.typed
        self._offering = parts.offering
        self._stamp = stamp
        self._skills = parts.skills
        self._workforce = parts.workforce
        self._received: list[Attachment] = []
        self._form = parts.form
        self._form_notes: list[TextAttachment] = []
        self._corrections = 0
        self._begun = False
        self._gathered: tuple[Gathered, ...] = ()
        self.prompt = ""

    def take_gathered(self) -> tuple[Gathered, ...]:
        """How the sources stood at the collection before the next request."""
        gathered, self._gathered = self._gathered, ()
        return gathered

    def receive(self, said: Attachment) -> None:
        self._received.append(said)

    async def collect(
        self, conversation: Conversation, occasion: Occasion, reached: tuple[str, ...], parent: str
    ) -> tuple[AttachmentEntry, ...]:
        """What the model should be told next, as entries behind `parent`: from the collectors, from others, from hooks (R374, R377).

        Behind a batch also what the person typed meanwhile, in words of their own (R211, R376).
        """
        notes: tuple[AttachmentEntry, ...] = ()
        if self._collection is not None:
            prefix = conversation.prefix
            moment = Moment(
                prompt=self.prompt,
                occasion=occasion,
                reached=reached,
                told=tuple(prefix.notes),
                entries=prefix.entries,
                cleared=len(prefix.facts.cleared),
            )
            found = await self._collection.collect(moment)
            self._gathered = found.gathered
            self._watch(NotesCollected(found.attachments, found.diagnostics, found.gathered))
            notes = note_entries(found.attachments, stamp=self._stamp, parent=parent)
            if self._hooks is not None:
                await self._hooks.on_notes(found.attachments)
        if occasion is Occasion.BATCH:
            await self._hear_typed()
        return (*notes, *self.said(conversation, notes[-1].uuid if notes else parent))

    async def _hear_typed(self) -> None:
        """Each text passes the hooks of a prompt like one that begins a turn; what they block is not said to the model (R375)."""
        for text in self._typed():
            refusal = None if self._hooks is None else await self._hooks.on_prompt(text)
            if refusal is None:
                self.receive(QueuedInput(kind="queued_command", text=text, origin=Origin.HUMAN))
            self._watch(TypedJoined(text, refusal))

    def said(self, conversation: Conversation, parent: str) -> tuple[AttachmentEntry, ...]:
        """The texts of skills, and what others and hooks said since the last request."""
        hooks, skills = self._hooks, self._skills
        invoked = () if skills is None else skills.take_notes(conversation.prefix.notes)
        said = () if hooks is None else hooks.take_notes()
        notes: tuple[Attachment, ...] = (*invoked, *self._received, *said, *self._form_notes)
        self._received, self._form_notes = [], []
        return note_entries(notes, stamp=self._stamp, parent=parent)

    async def hear(self, prompt: str, conversation: Conversation) -> EndTurn | None:
        """The end of a turn that may not begin: a hook keeps the prompt from the model (R375), or a skill that it calls cannot be loaded."""
        self.prompt, self._corrections = prompt, 0
        self._form_notes = [] if self._form is None else [TextAttachment(kind=FORM_KIND, text=self._form.instruction)]
        refusal = await self._hooks_hear(prompt, conversation)
        if refusal is not None:
            return EndTurn(EndReason.HOOK_STOPPED, refusal)
        problem = None if self._skills is None else await self._skills.hear(prompt)
        problem = problem or await self._hear_server(prompt)
        return None if problem is None else EndTurn(EndReason.TURN_SETUP_FAILED, problem)

    async def _hear_server(self, prompt: str) -> str | None:
        """The text of a server's prompt that was typed as a command goes with it; why there is none."""
        if self._offering is None:
            return None
        note, problem = await self._offering.typed(prompt)
        if note is not None:
            self.receive(note)
        return problem or None

    async def _hooks_hear(self, prompt: str, conversation: Conversation) -> str | None:
        """Why the prompt may not go on. The first prompt of a session is heard by its start hooks too."""
        hooks = self._hooks
        if hooks is None:
            return None
        if not self._begun:
            self._begun = True
            source = "resume" if conversation.leaf is not None else "startup"
            await hooks.on_start(source, conversation.options.model)
        return await hooks.on_prompt(prompt) or hooks.take_stop()

    async def _awaits_reports(self) -> bool:
        """Whether the report of an agent has come that the turn is waited with for."""
        workforce = self._workforce
        if workforce is None or not workforce.is_awaited:
            return False
        if not self._received:
            await workforce.wait()
        return bool(self._received)

    async def kept_going(self, conversation: Conversation, text: str) -> tuple[AttachmentEntry, ...]:
        """What the model is told so that it goes on, by a Stop hook or because its answer has not the form asked for; nothing when the turn may end."""
        hooks, leaf = self._hooks, conversation.leaf
        if leaf is None:
            return ()
        if hooks is not None and await hooks.on_stop(text) is not None:
            return self.said(conversation, leaf)
        if await self._awaits_reports():
            return self.said(conversation, leaf)
        problem = "" if self._form is None else read_answer(self._form, text).problem
        if not problem or self._corrections >= TRIES:
            return ()
        self._corrections += 1
        self._form_notes.append(TextAttachment(kind=FORM_KIND, text=correction(problem)))
        return self.said(conversation, leaf)
