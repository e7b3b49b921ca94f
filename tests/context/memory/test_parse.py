"""From bytes to text: forms, damage, front matter, and laws over any input at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.context.memory.extensions import TEXT_EXTENSIONS, is_text_name
from compositor.context.memory.front_matter import parse_front_matter
from compositor.context.memory.markdown import read_markdown
from compositor.context.memory.parse import parse_memory
from compositor.context.memory.text_form import decode_text

PATH = "/repo/CLAUDE.md"


@pytest.mark.req("R126", "R131", "R147")
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_byte_order_mark_and_line_ends_do_not_matter(mark: bytes, end: bytes) -> None:
    data = mark + end.join([b"---", b'paths: "**/*.ts"', b"---", b"Use tabs.", b"", b"Always.", b""])
    parsed = parse_memory(PATH, data)
    assert parsed.globs == ("**/*.ts",)
    assert parsed.text == "Use tabs.\n\nAlways."
    assert [piece.line for piece in parsed.pieces] == [4]
    assert parsed.diagnostics == ()


@pytest.mark.req("R131")
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_value_that_yaml_refuses_gives_a_warning_with_file_and_line(end: bytes) -> None:
    parsed = parse_memory(PATH, end.join([b"---", b"name: x", b"description: My agent: [ref: A-1]", b"---", b"body"]))
    (problem,) = parsed.diagnostics
    assert (problem.code, problem.where) == ("memory.front-matter", "/repo/CLAUDE.md:3")
    assert parsed.text == "body"


@pytest.mark.req("R147")
def test_mixed_line_ends_become_one_kind_and_other_separators_stay() -> None:
    parsed = parse_memory(PATH, "a\r\nb\rc\nd\u2028e\x0bf".encode())
    assert parsed.text == "a\nb\nc\nd\u2028e\x0bf"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Regel: grün\n".encode("utf-16"), "Regel: grün"),
        (b"\xfe\xff" + "Regel".encode("utf-16-be"), "Regel"),
    ],
)
def test_utf_16_with_a_mark_is_text(data: bytes, text: str) -> None:
    assert parse_memory(PATH, data).text == text


@pytest.mark.req("R142")
@pytest.mark.parametrize("data", [b"\x7fELF\x02\x00\x00", b"text\0text", b"\xff\xfe\x00\x00a\x00"])
def test_binary_content_is_refused_and_told(data: bytes) -> None:
    parsed = parse_memory(PATH, data)
    assert (parsed.is_text, parsed.text) == (False, "")
    assert [problem.code for problem in parsed.diagnostics] == ["memory.binary"]


def test_bytes_that_are_no_utf_8_are_replaced_and_told_with_their_line() -> None:
    parsed = parse_memory(PATH, b"one\r\ntwo\ncaf\xe9\n")
    assert parsed.text == "one\ntwo\ncaf\ufffd"
    assert [(problem.code, problem.where) for problem in parsed.diagnostics] == [("memory.encoding", f"{PATH}:3")]


@pytest.mark.req("R126")
@pytest.mark.parametrize(
    ("head", "paths"),
    [
        ("paths: [**/*.ts, 'b.md', {a,b}/c]", ("**/*.ts", "b.md", "{a,b}/c")),
        ("paths: {src,lib}/*.ts", ("{src,lib}/*.ts",)),
        ("paths: src/**, lib/{a,b}/*.js,", ("src/**", "lib/{a,b}/*.js")),
        ("paths:\n- src/*\n- 1.10\n- on", ("src/*", "1.10", "on")),
        ("paths:", ()),
        ("paths: []", ()),
        ("paths: ''", ()),
        ("Paths: src/*", ()),
    ],
)
def test_spellings_of_paths(head: str, paths: tuple[str, ...]) -> None:
    assert parse_front_matter(f"---\n{head}\n---\n").paths == paths


@pytest.mark.req("R131")
@pytest.mark.parametrize(
    "head", ["[" * 5_000, "&a [*a]", "? [a]\n: b", "a: !!python/object/apply:os.system [id]", "\t- x", "a: b\na: \x01"]
)
def test_no_front_matter_stops_the_load(head: str) -> None:
    front = parse_front_matter(f"---\n{head}\n---\nbody")
    assert front.paths == ()
    assert parse_memory(PATH, f"---\n{head}\n---\nbody".encode()).text.endswith("body")


def test_a_head_without_end_or_beyond_the_limit_is_text() -> None:
    endless = "---\n" + "x: y\n" * 40_000 + "---\n"
    assert parse_front_matter(endless).end == 0
    assert parse_front_matter("--- \na: b\n---\n").end == 0
    assert parse_front_matter("").end == 0


@pytest.mark.req("R142")
def test_the_list_has_more_than_a_hundred_types_and_none_that_holds_secrets() -> None:
    assert len(TEXT_EXTENSIONS) > 100
    assert all(map(is_text_name, ("/x/README", "a.MD", "Makefile", "x.tsx", ".editorconfig", "a.b.yaml")))
    secret = ("id_rsa", ".env", "x.pem", "server.key", ".netrc", "terraform.tfvars", "a.p12", "passwd", "credentials")
    binary = ("a.png", "a.pdf", "a.zip", "a.exe", "a.so", "a.sqlite")
    assert not any(map(is_text_name, (*secret, *binary)))


@pytest.mark.req("R133")
@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("see @docs/a.md.", ["docs/a.md"]),
        ("(@docs/a.md), @b.md; @c.md!", ["docs/a.md", "b.md", "c.md"]),
        ("@app/(group)/x.md", ["app/(group)/x.md"]),
        (r"@my\ notes/a\ b.md rest", ["my notes/a b.md"]),
        ("@~/x.md @./y.md @/z.md", ["~/x.md", "./y.md", "/z.md"]),
        ("# Title @a.md\n> quote @b.md\n* item @c.md\n\n| @d.md |", ["a.md", "b.md", "c.md", "d.md"]),
        ("@docs/__init__.py and @a_b_c.md **@bold.md**", ["docs/__init__.py", "a_b_c.md"]),
        ("``@a.md`` `x` @b.md ` @c.md", ["b.md", "c.md"]),
        ("@ @. @@x foo@bar.md \\@x.md", ["@x"]),
        ("~~~\n@a.md\n~~~\n\t@b.md", []),
        ("<div>\n@a.md `@b.md`\n</div>", ["a.md"]),
        ("@a.md\u2028@b.md", ["a.md", "b.md"]),
    ],
)
def test_what_is_an_import(text: str, specs: list[str]) -> None:
    assert [mark.spec for mark in read_markdown(text).imports] == specs


def test_lines_of_imports_are_those_of_the_file() -> None:
    parsed = parse_memory(PATH, b"---\na: b\n---\n\npara\n@one.md\n\n- x\n  @two.md\n\n<b>\n@three.md\n</b>\n")
    assert [(mark.spec, mark.line) for mark in parsed.imports] == [("one.md", 6), ("two.md", 9), ("three.md", 12)]


@pytest.mark.req("R143")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<!-- a -->", ""),
        ("<!-- a -->\n\nb", "b"),
        ("a\n\n<!-- b\nc -->\n\nd", "a\n\n\nd"),
        ("<!-- a --> rest", " rest"),
        ("<!-->\nx", "x"),
        ("> <!-- a -->\n> b", "> \n> b"),
        ("`<!-- a -->`", "`<!-- a -->`"),
        ("    <!-- a -->", "    <!-- a -->"),
        ("<pre>\n<!-- a -->\n</pre>", "<pre>\n</pre>"),
    ],
)
def test_which_comments_go(text: str, left: str) -> None:
    assert "".join(piece.text for piece in read_markdown(text).pieces) == left


MARKS = st.sampled_from(
    ["@a.md", "<!--", "-->", "```", "`", "\n", "\r", "\r\n", "---\n", "paths: ", "- ", "> ", "    ", "<p>", " "]
)


@pytest.mark.req("R140", "R147")
@given(st.lists(MARKS | st.text(max_size=5), max_size=40).map("".join))
def test_every_piece_stands_at_its_line_and_no_code_is_lost(text: str) -> None:
    data = text.encode("utf-8", "replace")
    parsed = parse_memory(PATH, data)
    plain = decode_text(data)
    assert (plain is not None) == parsed.is_text
    lines = plain.text.split("\n") if plain else []
    for piece in parsed.pieces:
        rest = "\n".join(lines[piece.line - 1 :])
        assert piece.text in rest
        assert rest.index(piece.text) <= len(lines[piece.line - 1])
    if "<!--" not in text and not text.startswith("---") and parsed.is_text and plain:
        assert parsed.text.strip() == plain.text.strip()


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value_without_carriage_returns(data: bytes) -> None:
    assert "\r" not in parse_memory(PATH, data).text


@pytest.mark.parametrize(
    "unit",
    ["<!--", "`", "[", "> ", "* ", "@a.md ", "<a ", "- \n", "\\", "<!-- a -->", "<!-- a -->\n\n", "@" + ")" * 9, "&"],
)
def test_a_megabyte_of_one_mark_comes_to_an_end(unit: str) -> None:
    parsed = parse_memory(PATH, (unit * (1_000_000 // len(unit))).encode())
    assert len(parsed.imports) <= 1_000
    assert parsed.is_text
