"""The report as one HTML file: text, tables and drawn charts, nothing from outside, no script.

Decides how it looks. All text from transcripts is escaped; a content security policy forbids everything but the page's own style.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .charts import bars, stacked
from .report import Report
from .rows import Session
from .totals import Row, ranked

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d9dee3;--bg:#fff;--read:#2f8f6b;--write:#d08a1d;--new:#b8433f;--bar:#3d6fb4}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaed;--soft:#9aa4ae;--line:#343b42;--bg:#15181b}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin:2.2rem 0 .5rem;border-top:1px solid var(--line);padding-top:1rem}
p,small,.soft{color:var(--soft)}dl{display:flex;flex-wrap:wrap;gap:.6rem 2.2rem}dt{font-size:.8rem;color:var(--soft)}dd{margin:0;font-size:1.25rem}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child,.text{text-align:left;overflow-wrap:anywhere}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
.read{fill:var(--read)}.write{fill:var(--write)}.new{fill:var(--new)}.bar{fill:var(--bar)}.axis{stroke:var(--line)}
.key span{margin-right:1.2rem}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}
.scroll{overflow-x:auto}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(report: Report) -> str:
    """The whole page."""
    parts = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>compositor replay</title><style>{STYLE}</style></head><body>",
        *_summary(report),
        *_advice(report),
        "<h2>Cost over time</h2>",
        bars(
            [(row.name, row.dollars) for row in sorted(report.totals.days.values(), key=lambda row: row.name)],
            "${:,.2f}",
        ),
        *_sessions(report.sessions),
        "<h2>Tokens by source <small>(estimated)</small></h2>",
        bars(list(report.totals.sources.items())[:16], "{:,.0f}", wide=True),
        *_breaks(report),
        *(part for title, rows in report.tables() for part in _table(title, rows)),
        "</body></html>",
    )
    return "\n".join(parts)


def _summary(report: Report) -> Iterable[str]:
    totals, all_ = report.totals, report.totals.all
    ratio = all_.hit_ratio
    error = totals.accuracy.median_error
    figures = (
        ("cost, confirmed", f"${all_.dollars:,.2f}"),
        ("without any cache", f"${all_.uncached:,.2f}"),
        ("read from the cache", "?" if ratio is None else f"{ratio:.1%}"),
        ("requests", f"{all_.requests:,}"),
        ("breaks", f"{all_.breaks:,}"),
        ("paid again", f"{all_.lost:,} tokens, ${all_.wasted:,.2f}"),
    )
    yield "<h1>What the sessions cost, and where the cache broke</h1>"
    yield (
        f"<p>{totals.files:,} files, {totals.lines:,} lines, {totals.damaged:,} damaged; {all_.unknown:,} requests without usage or price are in "
        f"no sum; {totals.copies:,} copies of requests are counted once. Reported figures are confirmed; reconstructed ones are estimated"
        f"{'' if error is None else f' (median error of a prompt {error:.1%})'}.</p>"
    )
    yield "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures) + "</dl>"


def _advice(report: Report) -> Iterable[str]:
    if not report.advice:
        return
    yield "<h2>What to change <small>(estimated)</small></h2><table><tr><th>change</th><th>saves</th><th class='text'>because</th></tr>"
    for one in report.advice:
        yield f"<tr><td>{escape(one.change)}</td><td>${one.saves:,.2f}</td><td class='text'>{escape(one.because)}</td></tr>"
    yield "</table>"


def _sessions(sessions: Sequence[Session]) -> Iterable[str]:
    if not sessions:
        return
    yield "<h2>Read, written and new in each request</h2><p class='key'>"
    yield "".join(
        f"<span><svg width='10' height='10' style='display:inline;width:.8em'><rect class='{css}' width='10' height='10'/></svg> {name}</span>"
        for css, name in _KEY
    )
    yield f"</p><p>The {len(sessions)} dearest sessions, in the order of their requests.</p>"
    for session in sessions:
        rows = [
            (f"line {request.line}", (usage.read, usage.written, usage.input_tokens))
            for request in session.requests
            if (usage := request.usage) is not None
        ]
        yield f"<p>{escape(session.project or session.path)} · {escape(session.session_id[:8])}</p>{stacked(rows, [css for css, _ in _KEY])}"


def _breaks(report: Report) -> Iterable[str]:
    yield "<h2>Breaks</h2>"
    if not report.breaks:
        yield "<p>None was found.</p>"
        return
    yield f"<p>The {len(report.breaks)} dearest of {report.totals.all.breaks}.</p><div class='scroll'><table>"
    yield "<tr><th>session</th><th>line</th><th>cause</th><th>lost</th><th>dollars</th><th class='text'>evidence</th></tr>"
    for one in report.breaks:
        dollars = "?" if one.found.dollars is None else f"{one.found.dollars:,.4f}"
        yield (
            f"<tr><td>{escape(one.session[:8])}</td><td>{one.line}</td><td>{one.found.cause.value}</td><td>{one.found.lost:,}</td>"
            f"<td>{dollars}</td><td class='text'>{escape('; '.join(one.found.evidence))}</td></tr>"
        )
    yield "</table></div>"


def _table(title: str, rows: dict[str, Row]) -> Iterable[str]:
    yield f"<h2>By {title}</h2><div class='scroll'><table><tr><th>{title}</th>"
    yield "".join(
        f"<th>{name}</th>"
        for name in ("requests", "read", "written", "new", "out", "hits", "dollars", "breaks", "lost")
    )
    yield "</tr>"
    for row in ranked(rows)[:50]:
        ratio = "?" if row.hit_ratio is None else f"{row.hit_ratio:.0%}"
        cells = (row.requests, row.read, row.written, row.fresh, row.output)
        yield f"<tr><td>{escape(row.name)}</td>" + "".join(f"<td>{cell:,}</td>" for cell in cells)
        yield f"<td>{ratio}</td><td>{row.dollars:,.4f}</td><td>{row.breaks}</td><td>{row.lost:,}</td></tr>"
    yield "</table></div>"


_KEY = (("read", "read from the cache"), ("write", "written to it"), ("new", "new"))
