"""The package's own data files: model profiles, platforms, aliases, betas and prices.

The one place in the pure half that reads anything, once for each file. Never looks outside the package and never decodes.
"""

from __future__ import annotations

import functools
import pkgutil


@functools.cache
def read_data(name: str) -> bytes:
    """The bytes of a data file, by its path below this package: `read_data("profiles/claude.json")`."""
    # `importlib.resources` would load twenty modules more, in every start of the program.
    data = pkgutil.get_data(__package__ or "compositor.config", name)
    if data is None:
        raise FileNotFoundError(f"the package has no data file {name!r}")
    return data
