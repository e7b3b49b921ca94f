"""Short ways to the values these tests speak of."""

from compositor.context.prompt.choose import PromptInputs, choose_prompt
from compositor.context.prompt.compute import DefaultPath, default_sections
from compositor.context.prompt.facts import MachineFacts, SectionProfile, SessionFacts
from compositor.types.provenance import Fragment
from compositor.types.request import HeadParts
from compositor.types.system import EffectivePrompt, SectionText

MACHINE = MachineFacts(platform="linux", os_version="Linux 6.1", shell="bash")
FACTS = SessionFacts(cwd="/repo", date="2026-01-31", machine=MACHINE, model="model-1", is_repository=True)


def sections(facts: SessionFacts = FACTS, path: DefaultPath = DefaultPath.STANDARD) -> tuple[SectionText, ...]:
    return default_sections(SectionProfile(), facts, path)


def prompt(facts: SessionFacts = FACTS, path: DefaultPath = DefaultPath.STANDARD, **inputs: object) -> EffectivePrompt:
    return choose_prompt(PromptInputs(default=sections(facts, path), **inputs))  # type: ignore[arg-type]


def joined(fragments: tuple[Fragment, ...]) -> str:
    return "".join(fragment.text for fragment in fragments)


def blocks(parts: HeadParts) -> list[str]:
    return [joined(block) for block in parts.system]
