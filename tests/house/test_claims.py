"""The page of claims: each has its kind of evidence and a test that is there; and the comparison claims themselves (R406 to R417)."""

import inspect
import json
import re
from pathlib import Path

import pytest

from compositor.cli.inputs import with_prompt
from compositor.config.flags import Flags
from compositor.config.layer import PRECEDENCE, REPOSITORY, Level
from compositor.context.explain import spans
from compositor.context.prompt import section
from compositor.loop.session import compile_next
from compositor.opened import Opening, open_session
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import Compiled
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
KINDS = {"code", "document", "observed"}


def rows(title: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    part = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """The first request of a project with two instruction files that contradict each other, and a rule for certain files."""
    project = tmp_path / "project"
    (project / ".claude" / "rules").mkdir(parents=True)
    (project / "CLAUDE.md").write_text("Indent with tabs.\n")
    (project / "CLAUDE.local.md").write_text("Indent with spaces.\n")
    (project / ".claude" / "rules" / "py.md").write_text("---\npaths: '**/*.py'\n---\nOnly for Python.\n")
    environ = {"HOME": str(tmp_path), "COMPOSITOR_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}
    opened = open_session(Opening(flags=Flags(), project=str(project), environ=environ))
    return compile_next(with_prompt(opened.conversation, "hello")[0])


@pytest.mark.req("R410")
def test_every_claim_has_one_of_three_kinds() -> None:
    claims = rows("Claims about this product")
    assert len(claims) >= 12
    assert {row[1].strip("`") for row in claims} == KINDS
    assert {row[-1].strip("`") for row in rows("Beside other tools")} == {"document"}
    assert all(len(row) == 3 and row[2] for row in claims)


@pytest.mark.req("R410")
def test_a_claim_from_code_names_a_test_that_is_there() -> None:
    for claim, kind, evidence in rows("Claims about this product"):
        named = re.findall(r"`(tests/[^`]+)`", evidence)
        assert (kind != "`code`") or named, claim
        for name in named:
            path, _, function = name.partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert not function or f"def {function}(" in text, name


@pytest.mark.req("R399")
def test_no_page_claims_what_the_service_stores() -> None:
    assert "Nothing is claimed about it" in PAGE
    claim = re.compile(
        r"\b(?:service|provider|anthropic)\b[^.|\n]{0,40}\b(?:never stores|does not store|deletes|retains|keeps? no|does not log|erases)\b",
        re.IGNORECASE,
    )
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert {
        str(page): claim.findall(page.read_text(encoding="utf-8"))
        for page in pages
        if claim.search(page.read_text(encoding="utf-8"))
    } == {}
    assert claim.search("The service never stores prompts") is not None


@pytest.mark.req("R406", "R407", "R408", "R409")
@pytest.mark.parametrize(
    "sentence",
    [
        "How a model weighs instructions that contradict each other is not known",
        "How the service trains its models on lanes of authority is not known",
        "are estimates until the usage of an answer\n  confirms them",
        "What hooks, MCP servers and fetched pages say cannot be trusted",
    ],
)
def test_what_is_not_known_is_said(sentence: str) -> None:
    assert sentence in PAGE


@pytest.mark.req("R411")
def test_the_prompt_has_three_layers(compiled: Compiled) -> None:
    found = [(span.origin.lane, span.origin.lifetime) for span in spans(compiled)]
    system = [lifetime for lane, lifetime in found if lane is Lane.SYSTEM]
    assert {Lifetime.RELEASE, Lifetime.SESSION} <= set(system)
    assert system == sorted(system)
    assert Lane.USER_CONTEXT in {lane for lane, _ in found}
    assert all(span.origin.source.kind for span in spans(compiled))


@pytest.mark.req("R412")
def test_markers_stand_at_the_ends_of_layers(compiled: Compiled) -> None:
    body = json.loads(compiled.body)
    paths = [marker.path for marker in compiled.markers]
    assert paths[:3] == ["system[0]", f"system[{len(body['system']) - 1}]", "messages[0].content[0]"]
    lifetimes = [span.origin.lifetime for span in spans(compiled) if span.origin.lane is Lane.SYSTEM]
    assert Lifetime.RELEASE in lifetimes
    assert "Indent with tabs" in json.dumps(body["messages"][0])


@pytest.mark.req("R414")
def test_users_adapt_by_levels_and_by_rules(compiled: Compiled) -> None:
    text = bytes(compiled.body).decode()
    assert text.index("Indent with tabs.") < text.index("Indent with spaces.")
    assert "Only for Python." not in text


@pytest.mark.req("R415")
def test_a_conflict_reaches_the_model_with_labels(compiled: Compiled) -> None:
    first = json.loads(compiled.body)["messages"][0]["content"]
    text = "".join(block["text"] for block in first)
    for name, words in (("CLAUDE.md", "Indent with tabs."), ("CLAUDE.local.md", "Indent with spaces.")):
        assert name in text.split(words)[0].rsplit("\n\n", 2)[-2] + text.split(words)[0][-300:]


@pytest.mark.req("R413", "R416")
def test_dangerous_constructors_say_so() -> None:
    makers = [name for name, value in vars(section).items() if inspect.isfunction(value) and name.endswith("_section")]
    uncached = [name for name in makers if "uncached" in name]
    assert uncached == ["DANGEROUS_uncached_section"]
    assert "reason" in inspect.signature(section.DANGEROUS_uncached_section).parameters
    assert "memoised_section" in makers


@pytest.mark.req("R417")
def test_settings_have_four_levels_of_files() -> None:
    assert [level for level in PRECEDENCE if level is not Level.CLI] == [
        Level.MANAGED,
        Level.LOCAL,
        Level.PROJECT,
        Level.USER,
    ]
    assert {Level.LOCAL, Level.PROJECT} == REPOSITORY
    assert "4: managed, user, project, local" in PAGE
