"""What every test may count on: a home of its own, no key, no proxy, laws with a fixed number of examples."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# A law is tried with examples that are the same on every run, so that one commit has one verdict; unset, with a few of them. Fresh ones, to find
# what nobody has seen yet, are asked for by COMPOSITOR_LAW_FRESH=1.
_FRESH = bool(os.environ.get("COMPOSITOR_LAW_FRESH"))
_EXAMPLES = os.environ.get("COMPOSITOR_LAW_EXAMPLES")
settings.register_profile(
    "laws",
    max_examples=int(_EXAMPLES or 25),
    derandomize=not _FRESH,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("laws")

# What would let a test see the machine of the person who runs it, or reach a real account.
_PRIVATE = ("ANTHROPIC_", "AWS_", "CLAUDE", "COMPOSITOR_", "GIT_", "GOOGLE_", "OPENAI_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_KEPT = ("COMPOSITOR_CORPUS", "COMPOSITOR_LAW_EXAMPLES", "COMPOSITOR_LAW_FRESH")


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            if name not in _KEPT and (name.startswith(_PRIVATE) or name.lower() in _PROXIES):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setenv("COMPOSITOR_HOME", str(home / ".compositor"))
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(home / name.lower()))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "Test")
            patch.setenv(f"GIT_{who}_EMAIL", "test@example.invalid")
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the source tree."""
    return ROOT
