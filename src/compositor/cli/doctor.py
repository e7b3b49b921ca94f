"""`compositor doctor`: what this machine offers, and what is missing.

Decides what is looked at and what each finding means. Changes nothing, and never prints a key.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from compositor._version import __version__
from compositor.cli.options import project_folder
from compositor.cli.terminal import fitted
from compositor.errors import CompositorError, ExitCode

if TYPE_CHECKING:
    from compositor.adapters.providers.cloud_endpoints import Cloud


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `state`: ok, missing (works without), hazard (costs something), or bad (must be mended)."""

    what: str
    state: str
    detail: str
    cure: str = ""


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of lines.")
@click.option("--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Whose settings to read.")
def command(*, as_json: bool, project: str | None) -> int:
    """Check this machine (key, versions, git, ripgrep, sandbox, settings files) and this project: what costs more than it must, each with its cure."""
    findings = tuple(_findings(project_folder(project)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())
    else:
        for found in findings:
            line = f"{found.state:8} {found.what:11} {found.detail}"
            click.echo(fitted(line, sys.stdout, indent=21))
            if found.cure:
                click.echo(fitted(f"{'':21}cure: {found.cure}", sys.stdout, indent=27))
    return ExitCode.FAILED if any(found.state == "bad" for found in findings) else ExitCode.OK


def _findings(cwd: str) -> Iterator[Finding]:
    yield Finding(what="compositor", state="ok", detail=f"{__version__} on Python {platform.python_version()}")
    yield Finding(what="system", state="ok", detail=f"{sys.platform}, {platform.machine()}")
    yield _key()
    yield _program("git", "the state of the repository is left out of the context")
    yield _program("rg", "the ripgrep that comes with the package is used, or a slower search")
    yield _sandbox()
    yield from _home()
    yield from _settings(cwd)
    yield from _hazards(cwd)


def _hazards(cwd: str) -> Iterator[Finding]:
    from compositor.cli.doctor_project import project_hazards

    for found in project_hazards(cwd):
        yield Finding(what=found.what, state="hazard", detail=found.detail, cure=found.cure)


def _key() -> Finding:
    from compositor.adapters.providers.cloud_endpoints import CLOUDS, resolve_cloud
    from compositor.adapters.providers.credentials import resolve_endpoint
    from compositor.adapters.providers.key_command import with_key_files
    from compositor.config.platforms import find_platform, platform_of

    try:
        chosen = platform_of(os.environ)
        if chosen in CLOUDS:
            return _cloud(resolve_cloud(find_platform(chosen), os.environ))
        endpoint = resolve_endpoint(with_key_files(os.environ))
    except CompositorError as problem:
        return Finding(what="key", state="bad", detail=str(problem))
    if not endpoint.has_credentials:
        hint = "none; `run` compiles and explains but sends nothing (set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN)"
        return Finding(what="key", state="missing", detail=hint)
    name = "ANTHROPIC_API_KEY" if endpoint.api_key is not None else "ANTHROPIC_AUTH_TOKEN"
    return Finding(what="key", state="ok", detail=f"{name} is set; requests go to {endpoint.url}")


def _cloud(cloud: Cloud) -> Finding:
    where = f"{cloud.platform.name}: requests go to {cloud.endpoint.url}"
    if not cloud.is_ready:
        return Finding(what="key", state="missing", detail=f"none for {where}")
    proof = "each one signed or with a fetched token" if cloud.signs else "with a key, or past a gateway that signs"
    return Finding(what="key", state="ok", detail=f"{where}, {proof}; not tried here")


def _program(name: str, without: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(what=name, state="missing", detail=f"not on the path; {without}")
    answer = _answer([path, "--version"])
    if answer is None:
        return Finding(what=name, state="missing", detail=f"{path} cannot be run; {without}")
    return Finding(what=name, state="ok", detail=f"{answer.split(chr(10), 1)[0]} ({path})")


def _answer(command: list[str]) -> str | None:
    """What a program prints; `None` where it cannot be started, fails, or takes too long."""
    try:
        ran = subprocess.run(command, capture_output=True, timeout=10, check=True)  # noqa: S603 - fixed arguments
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.decode("utf-8", "replace")


def _sandbox() -> Finding:
    from compositor.adapters.sandboxes.bubblewrap import probe_bubblewrap
    from compositor.adapters.sandboxes.landlock import probe_landlock

    probe = probe_bubblewrap()
    if probe.program is None:
        version = probe_landlock()
        instead = f"Landlock {version} draws weaker borders" if version else "commands run unconfined"
        return Finding(what="sandbox", state="missing", detail=f"{probe.reason}; {instead}")
    return Finding(what="sandbox", state="ok", detail=f"{probe.reason}; in use where settings say sandbox.enabled")


def _home() -> Iterator[Finding]:
    from compositor.adapters.home import find_home

    home = find_home(os.environ)
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    usable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    detail = f"{home}{'' if usable else ' cannot be written; COMPOSITOR_HOME names another folder'}"
    yield Finding(what="home", state="ok" if usable else "bad", detail=detail)


def _settings(cwd: str) -> Iterator[Finding]:
    from compositor.adapters.settings_files import find_places, load_layers

    try:
        layers = load_layers(find_places(cwd, os.environ))
    except CompositorError as problem:
        yield Finding(what="settings", state="bad", detail=str(problem))
        return
    if not layers:
        yield Finding(what="settings", state="ok", detail="no settings files")
    for layer in layers:
        count = len(layer.diagnostics)
        notes = f", {count} remark{'s' * (count != 1)}" if count else ""
        yield Finding(what="settings", state="ok", detail=f"{layer.level.value}: {layer.file}{notes}")
        for note in layer.diagnostics:
            yield Finding(what="settings", state="missing", detail=f"{note.message} ({note.where})")
