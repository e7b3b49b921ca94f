"""Section `env_info`: where the session runs and when it started (R059, R104).

Decides which facts are told and how. All of them are fixed at the start of the session; a new date comes as a note at the tail.
"""

from __future__ import annotations

from compositor.context.memory.one_line import one_line
from compositor.context.prompt.facts import SessionFacts


def render_env_info(facts: SessionFacts) -> str:
    """The facts as lines; one that is unknown has no line."""
    machine = facts.machine
    model = f"{facts.model_name} (model id {facts.model})" if facts.model_name else facts.model
    lines = [
        ("Working directory", one_line(facts.cwd)),
        ("Git repository", "yes" if facts.is_repository else "no"),
        *(("Additional working directory", one_line(path)) for path in facts.additional_directories),
        ("Platform", machine.platform),
        ("OS version", machine.os_version),
        ("Shell", machine.shell),
        ("Date at the start of the session", facts.date),
        ("Model", model),
        ("Knowledge cut-off of the model", facts.knowledge_cutoff),
    ]
    return "\n".join(["Environment of this session:", *(f"- {name}: {value}" for name, value in lines if value)])
