"""What to do about breaks, by cause: one table for advice and for the doctor."""

from __future__ import annotations

from .rows import Cause

CURES: dict[Cause, str] = {
    Cause.EXPIRY: "ask for a lifetime of one hour (promptCacheTtl), or go on sooner; `compositor replay` shows what either saves",
    Cause.COMPACTION: "compact at the end of a task, by hand, rather than in the middle of one",
    Cause.RESUME: "resume with the client that began the session: it can send the same bytes",
    Cause.MODEL_SWITCH: "keep one model in a session; give side work to a subagent",
    Cause.SETTINGS: "set effort and speed once, at the start",
    Cause.TOOLS: "connect MCP servers before the first turn, or defer their tools",
    Cause.SYSTEM: "keep what changes (date, directory) out of the system prompt; told at the tail, as a note, it costs itself alone",
    Cause.HISTORY: "leave sent messages as they are; tell news at the end",
    Cause.CLEARING: "clear much at once and seldom: each clearing writes everything behind it anew",
    Cause.WIDE_TURN: "place a marker at the end of the previous request: one marker looks back 20 blocks",
    Cause.UNKNOWN: "the record names no cause; `compositor replay` shows what was ruled out for each",
}
