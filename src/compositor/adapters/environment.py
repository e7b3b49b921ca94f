"""Facts of the machine for the environment section.

Reads them once and decides nothing about how they are told. Never reads the whole environment: only `SHELL` is looked at.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import PurePath

from compositor.context.prompt.facts import MachineFacts


def read_machine(environ: Mapping[str, str]) -> MachineFacts:
    """Platform, operating system version and the name of the user's shell; empty where the machine does not say."""
    version = " ".join(part for part in (platform.system(), platform.release()) if part)
    return MachineFacts(platform=sys.platform, os_version=version, shell=PurePath(environ.get("SHELL", "")).name)
