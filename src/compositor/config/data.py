"""The package's own data files: model profiles, platforms, aliases, betas and prices.

The one place in the pure half that reads anything, once for each file. Never looks outside the package and never decodes.
"""

from __future__ import annotations

import functools
from importlib.resources import files


@functools.cache
def read_data(name: str) -> bytes:
    """The bytes of a data file, by its path below this package: `read_data("profiles/claude.json")`."""
    return files(__package__ or "compositor.config").joinpath(name).read_bytes()
