"""A request that was sent, compiled again from transcript, journal and stored head (R424).

Decides which record an id and a number mean, and says whether the bytes are the ones that went out. Reads only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from compositor.adapters.home import find_home
from compositor.adapters.sessions.heads import HeadStore
from compositor.adapters.sessions.reading import find_session, read_transcript
from compositor.cli.options import project_folder
from compositor.config.platforms import find_platform
from compositor.config.profile import find_profile
from compositor.context.compile import compile_request
from compositor.context.head import compile_head
from compositor.context.transcript.graph import Path, active_path
from compositor.context.transcript.journal import Send
from compositor.context.transcript.load import Transcript
from compositor.errors import TranscriptError
from compositor.loop.offering import with_recorded_tools
from compositor.loop.opening import wire_context
from compositor.loop.resume import sent_facts
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.journal import SendRecord
from compositor.types.request import Compiled
from compositor.types.snapshot import Facts, Snapshot


def recorded_send(session: str, number: int | None, values: Mapping[str, Any]) -> Send:
    """The journal's record of request `number` (from 1) of a stored session; of the last one without a number."""
    path = find_session(find_home(os.environ), session, cwd=project_folder(values.get("project")))
    return _numbered(read_transcript(path), number, str(path))[1]


def recorded_request(
    session: str, number: int | None, values: Mapping[str, Any]
) -> tuple[str, str, Compiled, tuple[Diagnostic, ...]]:
    """Title, project, request and remarks of request `number` (from 1) of a stored session; the last one without a number."""
    home = find_home(os.environ)
    path = find_session(home, session, cwd=project_folder(values.get("project")))
    transcript = read_transcript(path)
    sends = transcript.journal.sends
    wanted, sent = _numbered(transcript, number, str(path))
    compiled = rebuild(transcript, sent.record, HeadStore(home))
    outcome = sent.outcome.value
    title = f"Request {wanted} of {len(sends)} in session {path.stem}, {sent.record.time}: {outcome}."
    project = transcript.header.cwd if transcript.header is not None else ""
    return title, project, compiled, (*transcript.diagnostics, comparison(compiled, sent.record))


def _numbered(transcript: Transcript, number: int | None, where: str) -> tuple[int, Send]:
    sends = transcript.journal.sends
    wanted = len(sends) if number is None else number
    if not 1 <= wanted <= len(sends):
        raise TranscriptError(f"the session holds {len(sends)} requests, not a request {wanted}", where=where)
    return wanted, sends[wanted - 1]


def rebuild(transcript: Transcript, record: SendRecord, heads: HeadStore) -> Compiled:
    """The request of a journal record, from nothing. Raises `TranscriptError` when its head is gone."""
    parts = heads.get(record.head_digest)
    if parts is None:
        raise TranscriptError(
            f"the head {record.head_digest[:12]} of this request is not stored any more",
            hint="Its messages are in the transcript, its tools and system prompt are not",
        )
    options = record.options
    profile = find_profile(options.model).profile
    known = Facts(model=options.model, binds_thinking=profile.binds_thinking, prefill=profile.prefill, system_role=True)
    # Which lane each entry took stands in the journal; whether it could is not asked again.
    readings = sent_facts(known, transcript.journal, record)
    path = active_path(transcript.entries, leaf=record.leaf) if record.leaf is not None else Path()
    wire = wire_context(profile, find_platform("claude-api"), api_version=options.api_version, betas=options.betas)
    head = with_recorded_tools(compile_head(parts), path.markers, wire)
    tries = [
        compile_request(Snapshot(head=head, entries=path.entries, facts=facts, options=options), wire)
        for facts in readings
    ]
    return next((one for one in tries if one.view_digest == record.view_digest), tries[0])


def comparison(compiled: Compiled, record: SendRecord) -> Diagnostic:
    """Whether what was compiled again is what went out."""
    same = compiled.view_digest == record.view_digest and compiled.size == record.size
    if same:
        return Diagnostic(
            "recorded.same", "The bytes are those that were sent", severity=Severity.INFO, where=record.view_digest[:12]
        )
    return Diagnostic(
        "recorded.differs",
        f"The bytes differ from those that were sent ({record.size} bytes): another version of this program wrote them",
        where=record.view_digest[:12],
    )
