"""Two charts as SVG text: bars, and stacked columns. Colors come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 1000, 180
MOST_COLUMNS = 400


def bars(rows: Sequence[tuple[str, float]], form: str, *, wide: bool = False) -> str:
    """Named values: columns, or with `wide` one line each."""
    if not rows or not any(value > 0 for _, value in rows):
        return "<p>Nothing to show.</p>"
    return _lines([row for row in rows if row[1] > 0], form) if wide else _columns(rows, form)


def stacked(rows: Sequence[tuple[str, Sequence[int]]], classes: Sequence[str]) -> str:
    """One column a row, its parts on top of each other; neighbors are added together when there are too many."""
    if not rows:
        return "<p>Nothing to show.</p>"
    each = -(-len(rows) // MOST_COLUMNS)
    merged = [rows[at : at + each] for at in range(0, len(rows), each)]
    columns = [
        (group[0][0], [sum(parts) / len(group) for parts in zip(*(row[1] for row in group), strict=True)])
        for group in merged
    ]
    top = max(sum(parts) for _, parts in columns) or 1
    step = WIDTH / len(columns)
    drawn = []
    for at, (name, parts) in enumerate(columns):
        base = float(HEIGHT)
        title = f"<title>{escape(name)}: {', '.join(f'{part:,.0f} {css}' for part, css in zip(parts, classes, strict=True))}</title>"
        for part, css in zip(parts, classes, strict=True):
            size = part / top * HEIGHT
            base -= size
            if size > 0:
                drawn.append(
                    f"<rect class='{css}' x='{at * step:.1f}' y='{base:.1f}' width='{max(step * 0.9, 0.8):.1f}' height='{size:.1f}'>{title}</rect>"
                )
    return _frame("".join(drawn), f"{top:,.0f} tokens", columns[0][0], columns[-1][0])


def _columns(rows: Sequence[tuple[str, float]], form: str) -> str:
    top = max(value for _, value in rows)
    step = WIDTH / len(rows)
    drawn = "".join(
        f"<rect class='bar' x='{at * step:.1f}' y='{HEIGHT - value / top * HEIGHT:.1f}' width='{min(max(step * 0.85, 0.8), 60):.1f}' "
        f"height='{value / top * HEIGHT:.1f}'><title>{escape(name)}: {form.format(value)}</title></rect>"
        for at, (name, value) in enumerate(rows)
    )
    return _frame(drawn, form.format(top), rows[0][0], rows[-1][0])


def _frame(drawn: str, top: str, first: str, last: str) -> str:
    return (
        f"<svg viewBox='0 -16 {WIDTH} {HEIGHT + 36}' role='img'><text x='0' y='-4'>{escape(top)}</text>"
        f"<line class='axis' x1='0' x2='{WIDTH}' y1='{HEIGHT}' y2='{HEIGHT}'/>{drawn}"
        f"<text x='0' y='{HEIGHT + 16}'>{escape(first)}</text><text x='{WIDTH}' y='{HEIGHT + 16}' text-anchor='end'>{escape(last)}</text></svg>"
    )


def _lines(rows: Sequence[tuple[str, float]], form: str) -> str:
    top = max(value for _, value in rows)
    drawn = "".join(
        f"<text x='0' y='{at * 22 + 15}'>{escape(name)}</text><rect class='bar' x='260' y='{at * 22 + 4}' width='{value / top * 600:.1f}' height='14'/>"
        f"<text x='{270 + value / top * 600:.1f}' y='{at * 22 + 15}'>{form.format(value)}</text>"
        for at, (name, value) in enumerate(rows)
    )
    return f"<svg viewBox='0 0 {WIDTH} {len(rows) * 22 + 4}' role='img'>{drawn}</svg>"
