"""Whether the user vouched for the repository a run works in.

Decides the vocabulary only. The record of the answers is kept by an adapter.
"""

from __future__ import annotations

import enum


class Trust(enum.StrEnum):
    """What a repository's own files may loosen (project-conventions 3.4). Their deny and ask rules count in any case."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
