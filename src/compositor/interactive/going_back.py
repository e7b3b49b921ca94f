"""The commands that leave the place where the session stands: another session, an earlier prompt.

Decides what is offered and asked. Going back is done on the stored session, as by `compositor sessions rewind`; then it is opened again.
"""

from __future__ import annotations

from anyio import to_thread

from compositor.adapters.checkpoints import Change, FileHistory
from compositor.adapters.sessions.changing import rewind_before
from compositor.adapters.sessions.index import list_sessions, typed_prompt
from compositor.cli.session_change import change_lines
from compositor.cli.sessions import readable_time, short_id
from compositor.context.messages.human import is_human_prompt
from compositor.opened import Opening
from compositor.ports import Question
from compositor.types.entries import AttachmentEntry, TranscriptEntry, UserEntry

from .here import Here

OFFERED = 15
"""Sessions or prompts that are offered to choose from, the newest."""

CONVERSATION, FILES, BOTH = "conversation", "files", "both"


async def resume(here: Here, argument: str) -> None:
    if argument:
        here.go(_other(here, argument), None)
        return
    found = [one for one in list_sessions(here.home, cwd=here.project) if one.session_id != here.session_id][:OFFERED]
    if not found:
        here.screen.note("There is no other session here.")
        return
    options = tuple(
        (short_id(one.session_id, found), f"{readable_time(one.updated)}  {one.prompt or '(nothing was said)'}")
        for one in found
    )
    chosen = await here.person.answer(Question(text="Which session?", options=options))
    if chosen is not None:
        here.go(_other(here, chosen), None)


def _other(here: Here, session: str) -> Opening:
    from compositor.adapters.sessions.past import find_past

    # What is wrong with it is said here, where the session still runs.
    find_past(here.home, here.project, resume=session, continues=False, transcript=None)
    return Opening(
        flags=here.opening.flags, project=here.project, environ=here.opening.environ, resume=session, interactive=True
    )


async def rewind(here: Here, _argument: str) -> None:
    prompts = [entry for entry in here.agent.conversation.prefix.entries if is_human_prompt(entry)]
    if not prompts:
        here.screen.note("There is no prompt to go back to.")
        return
    offered = prompts[-OFFERED:][::-1]
    labels = [f"{readable_time(entry.time)}  {_first_line(entry) or '(a picture)'}" for entry in offered]
    options = tuple((label, "") for label in labels)
    chosen = await here.person.answer(Question(text="Back to before which prompt?", options=options))
    if chosen not in labels:
        here.screen.note("Nothing was changed.")
        return
    prompt = offered[labels.index(chosen)]
    points = [entry.uuid for entry in prompts[prompts.index(prompt) :]]
    history = FileHistory(here.home, here.session_id, here.opened.clock)
    changes = history.changes(points)
    _show(here, changes)
    if any(change.what != "skip" for change in changes):
        ways = ((CONVERSATION, "the files stay as they are"), (FILES, "the conversation stays"), (BOTH, ""))
        what = await here.person.answer(Question(text="What goes back?", options=ways))
    else:
        what = CONVERSATION
    await _go_back(here, prompt.uuid, points, history, what)


def _show(here: Here, changes: tuple[Change, ...]) -> None:
    for line in change_lines(changes):
        here.screen.note(line.replace(f"{here.project}/", ""))


def _first_line(entry: TranscriptEntry) -> str | None:
    return typed_prompt(entry) if isinstance(entry, UserEntry | AttachmentEntry) else None


async def _go_back(here: Here, prompt: str, points: list[str], history: FileHistory, what: str | None) -> None:
    if what not in {CONVERSATION, FILES, BOTH}:
        here.screen.note("Nothing was changed.")
        return
    if what in {FILES, BOTH}:
        _show(here, await to_thread.run_sync(history.restore, points))
    if what in {CONVERSATION, BOTH}:
        here.go(here.again(), lambda: rewind_before(here.home, here.transcript, prompt))
