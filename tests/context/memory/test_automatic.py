"""Notes of a team, of earlier sessions and of an agent: what is loaded, what is cut and how that is shown, what is chosen."""

import itertools

import pytest

from compositor.context.memory.automatic import agent_folder, index_flow, keeping_rules, notes_flow
from compositor.context.memory.chain import MemoryChain
from compositor.context.memory.cut import NOTE_CHARACTERS, cut_index, cut_note
from compositor.context.memory.facts import MemoryFolder
from compositor.context.memory.relevance import MAX_TOKENS, ranked, select_notes, words
from compositor.context.prompt.user_context import plan_user_context, render_user_context
from compositor.context.tokens import estimate_tokens
from compositor.types.memory import MemoryLevel
from tests.context.memory.disk import Disk

TEAM = MemoryFolder(path="/team", level=MemoryLevel.TEAM)
AUTOMATIC = MemoryFolder(path="/auto", level=MemoryLevel.AUTOMATIC, is_kept=True)


def context(disk: Disk, *folders: MemoryFolder) -> str:
    indexes = disk.drive(index_flow(folders))
    return "".join(part.text for part in render_user_context(plan_user_context(MemoryChain(indexes=indexes))))


@pytest.mark.req("R144", "R145")
@pytest.mark.parametrize(
    ("text", "kept", "missing"),
    [
        ("\n".join(f"line {n}" for n in range(200)), "line 199", 0),
        ("\n".join(f"line {n}" for n in range(201)), "line 199", len("\nline 200")),
        ("\n".join("x" * 99 for _ in range(300)), "x" * 99, 100 * 100),
    ],
)
def test_an_index_loads_200_lines(text: str, kept: str, missing: int) -> None:
    cut = cut_index(text, "/auto/MEMORY.md")
    assert cut.missing == missing
    assert kept in cut.text
    if missing:
        assert cut.text.endswith(
            f"[Cut here: {missing:,} more bytes are in /auto/MEMORY.md. Read the file for the rest.]"
        )


@pytest.mark.req("R144", "R145")
def test_an_index_loads_25_000_bytes_and_ends_at_a_line() -> None:
    line = "ü" * 499
    cut = cut_index("\n".join([line] * 100), "/i")
    shown = cut.text.split("\n\n[Cut here")[0]
    # 998 bytes and a line feed each: 25 whole lines fit.
    assert shown.split("\n") == [line] * 25
    assert cut.missing == 75 * 999
    assert cut.lines == 25
    assert "\ufffd" not in cut.text


@pytest.mark.req("R145")
def test_one_endless_line_is_cut_between_two_characters() -> None:
    shown = cut_index("ü" * 50_000, "/i").text.split("\n\n[Cut here")[0]
    assert shown == "ü" * 12_500


@pytest.mark.req("R144")
def test_a_note_is_cut_at_40_000_characters() -> None:
    text = "é line\n" * 8_000
    cut = cut_note(text, "/n.md")
    assert len(cut.text.split("\n\n[Cut here")[0]) <= NOTE_CHARACTERS < len(text)
    assert cut_note("x" * NOTE_CHARACTERS, "/n.md").missing == 0


@pytest.mark.req("R144", "R420")
@pytest.mark.parametrize("folder", [TEAM, AUTOMATIC])
def test_a_note_of_50_000_characters_is_cut_and_says_so(folder: MemoryFolder) -> None:
    disk = Disk({f"{folder.path}/big.md": "word\n" * 10_000})
    (note,) = disk.drive(notes_flow((folder,)))
    cut = cut_note(note.file.text, note.file.path)
    assert len(cut.text) < 40_200
    assert f"are in {folder.path}/big.md" in cut.text
    assert cut.lines == 8_000
    (chosen,) = select_notes((note,), "word", ())
    # What was cut twice is counted once.
    shown = chosen.attachment.text.split(":\n\n", 1)[1].split("\n\n[Cut here")[0]
    assert f"[Cut here: {len(note.file.text) - len(shown):,} more bytes" in chosen.attachment.text
    assert shown.count("word") == chosen.lines


@pytest.mark.req("R420", "R117")
def test_the_indexes_stand_behind_the_instructions_under_their_own_names() -> None:
    disk = Disk(
        {"/team/MEMORY.md": "team index", "/auto/MEMORY.md": "own index", "/team/topic.md": "never at the start"}
    )
    text = context(disk, TEAM, AUTOMATIC)
    assert text.index("# memory") < text.index("team index") < text.index("own index")
    assert "Contents of /team/MEMORY.md (team memory, notes that a team shares):" in text
    assert "Contents of /auto/MEMORY.md (automatic memory, notes from earlier sessions, for this project):" in text
    assert "never at the start" not in text
    assert disk.asked == ["/team/MEMORY.md", "/auto/MEMORY.md"]


@pytest.mark.req("R102")
def test_a_folder_that_is_not_there_says_nothing_and_the_rules_of_one_that_is_kept_name_it() -> None:
    assert context(Disk({}), TEAM) == ""
    assert context(Disk({}), AUTOMATIC) == ""
    assert "/auto" in keeping_rules(AUTOMATIC)


def test_a_note_imports_nothing() -> None:
    disk = Disk({"/auto/MEMORY.md": "@/etc/x.md @topic.md", "/auto/topic.md": "topic", "/etc/x.md": "never"})
    assert "topic\n" not in context(disk, AUTOMATIC)
    assert disk.asked == ["/auto/MEMORY.md"]


@pytest.mark.req("R138")
def test_links_lead_out_of_no_folder_of_notes() -> None:
    disk = Disk(
        {"/team/ok.md": "ok", "/secret/key.md": "SECRET", "/secret/index.md": "SECRET"},
        {"/team/key.md": "/secret/key.md", "/team/MEMORY.md": "/secret/index.md", "/team/more": "/secret"},
    )
    assert [note.name for note in disk.drive(notes_flow((TEAM,)))] == ["ok.md"]
    (index,) = disk.drive(index_flow((TEAM,)))
    assert index.file is None
    assert [note.code for note in index.diagnostics] == ["memory.link-outside"]


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("user", "/home/u/.claude/agent-memory/reviewer"),
        ("project", "/repo/.claude/agent-memory/reviewer"),
        ("local", "/repo/.claude/agent-memory-local/reviewer"),
    ],
)
def test_an_agent_keeps_notes_in_the_folder_of_its_scope(scope: str, path: str) -> None:
    folder = agent_folder(scope, "reviewer", cwd="/repo", config_home="/home/u/.claude")
    assert folder is not None
    assert (folder.path, folder.level, folder.is_kept) == (path, MemoryLevel.AGENT, True)
    assert "notes that this agent kept" in context(Disk({f"{path}/MEMORY.md": "x"}), folder)


@pytest.mark.parametrize(
    ("scope", "name"), [("all", "a"), ("user", ""), ("user", "../x"), ("project", ".hidden"), ("local", "a/b")]
)
def test_an_agent_without_a_plain_name_or_scope_has_no_folder(scope: str, name: str) -> None:
    assert agent_folder(scope, name, cwd="/repo", config_home="/c") is None


NOTES = {
    "/auto/deploy.md": "---\nname: deploy\ntype: project\n---\nDeploy with make ship; staging lies in Frankfurt.",
    "/auto/style.md": "The user wants short answers and no emoji.",
    "/auto/sub/database.md": "Migrations of the PostgreSQL database live in db/migrations.",
    "/auto/MEMORY.md": "deploy database style index",
    "/auto/image.png": "deploy",
}


def chosen(disk: Disk, query: str, told: tuple[str, ...] = ()) -> list[str | None]:
    notes = disk.drive(notes_flow((AUTOMATIC,)))
    history = [one.attachment for one in select_notes(notes, " ".join(told), ())] if told else []
    return [one.attachment.path for one in select_notes(notes, query, history)]


@pytest.mark.req("R419")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do we deploy to staging?", ["/auto/deploy.md"]),
        ("add a column /repo/db/migrations/002.sql", ["/auto/sub/database.md"]),
        ("please fix it", []),
        ("", []),
        ("quantum chromodynamics", []),
    ],
)
def test_the_notes_that_share_words_with_prompt_and_paths_are_chosen(query: str, expected: list[str]) -> None:
    assert chosen(Disk(NOTES), query) == expected


@pytest.mark.req("R123", "R419")
def test_a_note_is_not_chosen_twice_unless_it_changed() -> None:
    disk = Disk(NOTES)
    assert chosen(disk, "deploy", told=("deploy",)) == []
    history = [one.attachment for one in select_notes(disk.drive(notes_flow((AUTOMATIC,))), "deploy", ())]
    disk.files["/auto/deploy.md"] = b"Deploy is done by the pipeline now."
    (again,) = select_notes(disk.drive(notes_flow((AUTOMATIC,))), "deploy", history)
    assert again.attachment.text.endswith("by the pipeline now.")


@pytest.mark.req("R419", "R147")
def test_at_most_five_notes_and_5_000_tokens_ties_by_path() -> None:
    same = Disk({f"/auto/{n}.md": "deploy" for n in "gfedcba"}, seed=3)
    assert chosen(same, "deploy") == [f"/auto/{n}.md" for n in "abcde"]
    large = Disk({f"/auto/{n}.md": f"deploy {n}\n" + "some other words here\n" * 600 for n in range(5)})
    texts = [one.attachment.text for one in select_notes(large.drive(notes_flow((AUTOMATIC,))), "deploy", ())]
    assert 1 <= len(texts) < 5
    assert sum(estimate_tokens(text.encode()) for text in texts) <= MAX_TOKENS
    assert "[Cut here:" in texts[-1]


@pytest.mark.req("R419")
def test_the_choice_is_the_same_in_any_order_of_the_listing() -> None:
    results = {tuple(chosen(Disk(NOTES, seed=seed), "deploy database user")) for seed in range(10)}
    assert len(results) == 1


def test_rare_words_count_more_than_common_ones() -> None:
    disk = Disk({"/auto/a.md": "server port", "/auto/b.md": "server kerberos", "/auto/c.md": "server name"})
    notes = disk.drive(notes_flow((AUTOMATIC,)))
    assert [note.name for note in itertools.islice(ranked(notes, "server kerberos"), 1)] == ["b.md"]


def test_words_are_cut_at_capitals_and_punctuation() -> None:
    assert words("parseHTTPHeader in src/http_client.py, the file v2") == [
        "parse",
        "http",
        "header",
        "src",
        "http",
        "client",
        "py",
    ]
