"""The version of this package: the build reads it from here, `--version` prints it. Never computed, never looked up."""

__version__ = "0.1.0"
