"""Read on images, PDF files and notebooks, good and damaged."""

import base64
import io
import json
from typing import Any

import msgspec
import pytest
from PIL import Image
from pypdf import PdfWriter

from compositor.types.blocks import DocumentBlock, ImageBlock, TextBlock
from compositor.types.tools import OutcomeKind


def picture(size: tuple[int, int], form: str = "PNG", mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 80).convert(mode).save(buffer, form)
    return buffer.getvalue()


def document(pages: int) -> bytes:
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(200, 200)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def source(block: Any) -> dict[str, str]:
    return msgspec.json.decode(bytes(block.source))


def shown(session: Any, **fields: Any) -> tuple[Any, ...]:
    outcome = session.use("Read", **fields)
    assert outcome.kind is OutcomeKind.DONE, outcome.content
    return outcome.content


@pytest.mark.parametrize(
    ("form", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_an_image_that_fits_is_sent_as_it_is(session: Any, form: str, media_type: str) -> None:
    data = picture((40, 30), form)
    session.put("a.dat", data)
    (block,) = shown(session, file_path="a.dat")
    assert isinstance(block, ImageBlock)
    assert source(block) == {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    assert session.structured["type"] == "image"
    assert session.structured["file"]["dimensions"]["originalWidth"] == 40
    assert session.outcome.display == "Read(a.dat): image of 40x30"


def test_a_large_image_is_scaled_and_becomes_a_jpeg(session: Any) -> None:
    session.put("a.png", picture((2_600, 650)))
    (block,) = shown(session, file_path="a.png")
    assert source(block)["media_type"] == "image/jpeg"
    assert len(source(block)["data"]) < 5_000_000
    with Image.open(io.BytesIO(base64.b64decode(source(block)["data"]))) as image:
        assert image.size == (2_000, 500)


def test_a_format_that_the_api_does_not_take_becomes_png(session: Any) -> None:
    session.put("a.bmp", picture((20, 10), "BMP"))
    (block,) = shown(session, file_path="a.bmp")
    assert source(block)["media_type"] == "image/png"


def test_damaged_and_exploding_images_are_refused(session: Any) -> None:
    session.put("cut.png", picture((400, 400))[:200])
    assert "the image is damaged" in session.refusal("Read", file_path="cut.png")
    huge = io.BytesIO()
    Image.new("1", (10_000, 9_500)).save(huge, "PNG")
    session.put("huge.png", huge.getvalue())
    assert "too many pixels" in session.refusal("Read", file_path="huge.png")


def test_a_short_pdf_is_sent_as_a_document(session: Any) -> None:
    data = document(3)
    session.put("a.pdf", data)
    (block,) = shown(session, file_path="a.pdf")
    assert isinstance(block, DocumentBlock)
    assert source(block)["media_type"] == "application/pdf"
    assert base64.b64decode(source(block)["data"]) == data
    assert session.structured["file"]["totalPages"] == 3


def test_pages_of_a_pdf_come_as_text(session: Any) -> None:
    session.put("a.pdf", document(30))
    (block,) = shown(session, file_path="a.pdf", pages="29-35")
    assert isinstance(block, TextBlock)
    assert block.text == "[Page 29 of 30]\n[No text on this page.]\n\n[Page 30 of 30]\n[No text on this page.]"
    assert session.structured["type"] == "parts"


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (None, "has 30 pages; say which"),
        ("1-21", "at most 20 pages"),
        ("31", "do not exist"),
        ("0", "do not exist"),
        ("5-2", "do not exist"),
        ("all", "must look like"),
    ],
)
def test_pages_that_cannot_be_read_are_refused(session: Any, pages: str | None, words: str) -> None:
    session.put("a.pdf", document(30))
    fields = {} if pages is None else {"pages": pages}
    assert words in session.refusal("Read", file_path="a.pdf", **fields)


def test_damaged_and_locked_pdfs_are_refused(session: Any) -> None:
    session.put("cut.pdf", b"%PDF-1.7\nnothing")
    assert "the PDF is damaged" in session.refusal("Read", file_path="cut.pdf")
    writer = PdfWriter()
    writer.add_blank_page(10, 10)
    writer.encrypt("secret", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    session.put("locked.pdf", buffer.getvalue())
    assert "locked with a password" in session.refusal("Read", file_path="locked.pdf")


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": list(cells), "nbformat": 4})


def test_a_notebook_is_shown_as_cells_with_outputs(session: Any) -> None:
    png = base64.b64encode(picture((5, 5))).decode()
    session.put(
        "a.ipynb",
        notebook(
            {"cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["\x1b[31m1\x1b[0m\n"]},
                    {"output_type": "display_data", "data": {"image/png": png, "text/plain": "<Figure>"}},
                    {"output_type": "error", "traceback": ["Traceback", "ValueError"]},
                ],
            },
        ),
    )
    first, image, last = shown(session, file_path="a.ipynb")
    assert first.text == (
        "[Cell intro, markdown]\n# Title\ntext\n\n[Cell 1, code]\nprint(1)\n\n[Output]\n1\n\n[Output]\n<Figure>"
    )
    assert isinstance(image, ImageBlock)
    assert last.text == "[Output]\nTraceback\nValueError"
    assert [cell["cellType"] for cell in session.structured["file"]["cells"]] == ["markdown", "code"]


def test_a_long_output_of_a_cell_is_cut(session: Any) -> None:
    cell = {"cell_type": "code", "source": "", "outputs": [{"text": "x" * 10_500}]}
    session.put("a.ipynb", notebook(cell))
    (block,) = shown(session, file_path="a.ipynb")
    assert block.text.endswith("x\n[Output cut: 500 more characters.]")


def test_a_notebook_can_be_read_as_raw_text(session: Any) -> None:
    session.put("a.ipynb", notebook())
    assert session.text("Read", file_path="a.ipynb", offset=1) == '     1\t{"cells": [], "nbformat": 4}'


@pytest.mark.parametrize(
    ("content", "words"),
    [("{nope", "is no JSON"), ("[]", "no list of cells"), (notebook({"source": "x" * 200_000}), "in parts")],
)
def test_a_notebook_that_cannot_be_shown_says_how_to_read_it(session: Any, content: str, words: str) -> None:
    session.put("a.ipynb", content)
    message = session.refusal("Read", file_path="a.ipynb")
    assert words in message
    assert "offset and limit" in message
