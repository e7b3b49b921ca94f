"""The table of sections: order, declarations, topics, and that the shared part knows nothing of its session."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compositor.context.prompt.compute import DefaultPath, compute_default, default_sections, left_out_sections
from compositor.context.prompt.facts import MachineFacts, Reader, SectionProfile, SessionFacts
from compositor.context.prompt.layout import head_parts
from compositor.context.prompt.order import SECTIONS
from compositor.context.prompt.section import (
    DynamicSection,
    SharedScope,
    StaticSection,
    check_sections,
    memoised_section,
    section_instruction,
)
from compositor.context.prompt.sections.identity import render_identity
from compositor.context.prompt.system_context import GitStatus, plan_system_context
from compositor.errors import UsageError
from compositor.types.instructions import EnforcementPower, InstructionClass, ModelAuthority, Region
from compositor.types.provenance import Lifetime, Source
from compositor.types.system import Priority, Zone
from tests.context.prompt.building import FACTS, blocks, prompt, sections

STATIC = ["identity", "system", "doing_tasks", "actions", "using_tools", "tone_style", "output_efficiency"]
TEXTS = {section.key: section.fragment.text for section in sections()}
STATIC_TEXT = "\n".join(TEXTS[key] for key in STATIC)


@pytest.mark.req("R026", "R028", "R091")
def test_seven_static_sections_stand_first_in_their_order() -> None:
    assert [section.key for section in SECTIONS if section.zone is Zone.STATIC] == STATIC
    assert [section.key for section in sections()] == [*STATIC, "env_info", "token_budget"]
    assert [section.fragment.origin.lifetime for section in sections()] == [Lifetime.RELEASE] * 7 + [
        Lifetime.SESSION
    ] * 2


@pytest.mark.req("R005", "R015")
def test_every_section_says_where_it_comes_from_and_why_it_is_there() -> None:
    for section in sections(FACTS):
        assert section.fragment.origin.source == Source("section", section.key)
        assert section.fragment.origin.gate


@pytest.mark.req("R016", "R018", "R023", "R030", "R046", "R055")
def test_every_section_is_declared_whole() -> None:
    for section in SECTIONS:
        declared = section_instruction(section)
        assert (declared.kind, declared.region) == (InstructionClass.SYSTEM_PROMPT, Region.SYSTEM)
        assert (declared.authority, declared.power) == (ModelAuthority.OPERATOR, EnforcementPower.NONE)
        assert Path("src/compositor", declared.producer).name == f"{section.key}.py"
        assert declared.form
        assert declared.why_here
        assert declared.loss_modes
        assert section.condition
        assert section.priority in Priority
        assert section.scope is (SharedScope.GLOBAL if section.zone is Zone.STATIC else SharedScope.NONE)


@pytest.mark.req("R016")
def test_the_declared_producers_exist(repository: Path) -> None:
    for section in SECTIONS:
        assert (repository / "src/compositor" / section_instruction(section).producer).is_file()


WORDS = {
    "identity": "coding agent",
    "safety_floor": "malware",
    "no_invented_urls": "never guess",
    "output_constraints": "shown to the user",
    "tool_constraints": "permission rules",
    "automatic_compaction": "condensed automatically",
    "reminder_added_by_client": "The client adds them",
    "reminder_unrelated_to_carrier": "no direct relation",
    "reminder_not_typed_by_user": "not typed by the user",
    "no_speculative_abstraction": "no abstraction",
    "no_early_error_handling": "no error handling",
    "no_single_use_helper": "no helper for a single use",
    "no_needless_validation": "validate where data enters",
    "read_before_change": "Read the code before",
    "reversibility": "be undone",
    "blast_radius": "what can it reach",
    "local_is_free": "go ahead",
    "confirm_irreversible": "Ask before",
    "approval_scope": "as wide as the request",
    "approval_not_standing": "not a standing one",
    "dedicated_over_shell": "rather than the shell",
    "shell_is_opaque": "hides it",
    "parallel_calls": "side by side",
    "no_emoji": "no emoji",
    "file_line_references": "file.py:42",
    "issue_references": "owner/repo#123",
    "no_colon_before_call": "colon right before a tool call",
    "straight_to_the_point": "straight to the point",
    "not_needlessly_terse": "Short is not the aim",
    "reader_without_questions": "nothing to ask",
}


@pytest.mark.req("R033", "R034", "R035", "R036", "R037", "R038", "R039", "R040")
def test_every_topic_of_a_section_is_in_its_text() -> None:
    topics = [(section.key, topic) for section in SECTIONS for topic in section.topics]
    assert sorted(topic for _, topic in topics) == sorted(WORDS)
    for key, topic in topics:
        assert WORDS[topic].lower() in TEXTS[key].lower(), (key, topic)


@pytest.mark.req("R034")
def test_reminder_tags_are_explained_exactly_once() -> None:
    assert STATIC_TEXT.count("<system-reminder>") == 1


@pytest.mark.req("R028")
def test_the_texts_have_a_sensible_length_and_clean_form() -> None:
    assert 1_500 <= len(STATIC_TEXT.split()) <= 2_600
    for key in STATIC:
        text = TEXTS[key]
        assert text == text.strip()
        assert not re.search(r"\n{3}|[ \t]\n|\t|[^\x20-\x7e\n]", text)
        assert all(line.startswith(("- ", "# ")) or not re.match(r"[-*#]", line) for line in text.split("\n"))
    assert [text.startswith("# ") for text in (TEXTS[key] for key in STATIC)] == [False, *[True] * 6]


def random_facts(chance: random.Random) -> tuple[SessionFacts, list[str]]:
    """Facts full of tokens that occur nowhere else, and the tokens."""
    tokens = [f"qx{chance.getrandbits(60):015x}" for _ in range(11)]
    machine = MachineFacts(platform=tokens[0], os_version=tokens[1], shell=tokens[2])
    facts = SessionFacts(
        cwd=f"/home/{tokens[3]}/{tokens[4]}",
        date=tokens[5],
        machine=machine,
        model=tokens[6],
        model_name=tokens[7],
        knowledge_cutoff=tokens[8],
        additional_directories=(f"/{tokens[9]}",),
        language=tokens[10],
        is_repository=chance.random() < 0.5,
    )
    return facts, tokens


@pytest.mark.req("R029", "R030", "R038", "R070", "R085")
def test_no_fact_of_a_session_stands_before_the_boundary_and_all_stand_behind_it() -> None:
    static = set()
    for seed in range(20):
        facts, tokens = random_facts(random.Random(seed))
        git = GitStatus(branch=f"branch{tokens[3]}", status=(f"?? {tokens[4]}",))
        first, second = blocks(head_parts(prompt(facts), system_context=plan_system_context(git, facts.date)))
        static.add(first)
        assert not [token for token in tokens if token in first]
        assert all(token in second for token in tokens)
        assert f"branch{tokens[3]}" in second
    assert len(static) == 1


PROGRAM = """
import hashlib
from compositor.context.prompt.facts import SectionProfile
from compositor.context.prompt.order import SECTIONS, StaticSection
texts = [section.render(SectionProfile()) for section in SECTIONS if isinstance(section, StaticSection)]
print(hashlib.sha256("\\n".join(texts).encode()).hexdigest())
"""


@pytest.mark.req("R029")
def test_static_bytes_are_the_same_in_other_processes_folders_users_and_locales(
    tmp_path: Path, repository: Path
) -> None:
    digests = set()
    for seed in range(4):
        environ = {
            "PYTHONPATH": str(repository / "src"),
            "PYTHONHASHSEED": str(seed),
            "HOME": f"/home/user{seed}",
            "USER": f"user{seed}",
            "TZ": ("UTC", "Asia/Tokyo", "America/Lima", "Europe/Oslo")[seed],
            "LANG": ("C", "de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8")[seed],
        }
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [sys.executable, "-c", PROGRAM]
        digests.add(subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1


@pytest.mark.req("R041", "R032")
def test_two_profiles_give_two_prefixes_each_of_them_stable() -> None:
    texts = {
        reader: [
            "".join(
                s.fragment.text for s in default_sections(SectionProfile(reader=reader), FACTS, DefaultPath.STANDARD)
            )
            for _ in range(2)
        ]
        for reader in Reader
    }
    assert all(first == second for first, second in texts.values())
    assert len({first for first, _ in texts.values()}) == len(Reader)


@pytest.mark.req("R043", "R045")
def test_the_minimal_prompt_is_one_line_in_one_block() -> None:
    parts = head_parts(
        prompt(path=DefaultPath.MINIMAL), system_context=plan_system_context(GitStatus(branch="main"), "2026-01-31")
    )
    (block,) = blocks(parts)
    assert "\n" not in block
    assert "coding agent" in block


@pytest.mark.req("R053")
def test_a_section_with_nothing_to_say_leaves_nothing_but_an_explanation() -> None:
    assert "language" not in TEXTS
    omissions = left_out_sections(compute_default(SectionProfile(), FACTS, DefaultPath.STANDARD))
    reasons = {omission.what: omission.reason for omission in omissions}
    assert reasons["section language"] == "its condition does not hold: a language is set"


def static(key: str, scope: SharedScope = SharedScope.GLOBAL) -> StaticSection:
    return StaticSection(key=key, render=render_identity, scope=scope, topics=(), why_here="test")


def dynamic(key: str) -> DynamicSection:
    return memoised_section(key, lambda facts: "x", priority=Priority.P1, condition="c", why_here="w")


@pytest.mark.req("R031", "R046", "R047")
@pytest.mark.parametrize(
    ("table", "word"),
    [
        ((static("a", SharedScope.NONE),), "without the widest scope"),
        ((dynamic("a"), static("b")), "behind the boundary"),
        ((static("a"), dynamic("a")), "have the key 'a'"),
    ],
)
def test_a_table_that_cannot_be_laid_out_is_refused(
    table: tuple[StaticSection | DynamicSection, ...], word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        check_sections(table)


@pytest.mark.req("R031")
def test_a_section_without_its_declarations_cannot_be_built() -> None:
    with pytest.raises(TypeError, match="scope"):
        StaticSection(key="a", render=render_identity, topics=(), why_here="test")  # type: ignore[call-arg]
