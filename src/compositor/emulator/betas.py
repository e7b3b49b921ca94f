"""The beta names that are documented; a request that sends another one is refused (wire page 1).

Decides the list only. What a beta opens is `shapes.py`.
"""

from __future__ import annotations

KNOWN_BETAS = frozenset({
    "advisor-tool-2026-03-01",
    "cache-diagnosis-2026-04-07",
    "compact-2026-01-12",
    "compact-2026-09-04",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "extended-cache-ttl-2025-04-11",
    "fallback-credit-2026-06-01",
    "fallback-credit-2026-07-01",
    "fast-mode-2026-02-01",
    "inline-tools-2026-09-15",
    "interleaved-thinking-2025-05-14",
    "mcp-client-2025-04-04",
    "mcp-client-2025-11-20",
    "mcp-client-2026-09-15",
    "message-threads-2026-08-12",
    "mid-conversation-output-config-2026-07-01",
    "mid-conversation-system-clear-at-2026-08-21",
    "mid-conversation-tool-changes-2026-07-01",
    "model-context-window-exceeded-2025-08-26",
    "output-300k-2026-03-24",
    "server-side-fallback-2026-06-01",
    "server-side-fallback-2026-07-01",
    "task-budgets-2026-03-13",
    "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18",
    "thinking-token-count-2026-05-13",
    "token-efficient-tools-2025-02-19",
})  # fmt: skip
