"""`compositor tools`: the tools a run would offer, what they cost, and why the others are not there.

Decides how the list reads. Starts the MCP servers of the project to ask them, and sends nothing to a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.cli.options import contract_options

if TYPE_CHECKING:
    from compositor.context.tools.deferral import News
    from compositor.opened import Opened
    from compositor.types.provenance import Omission
    from compositor.types.request import HeadTool


@click.command(name="tools")
@contract_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@click.option("--no-servers", is_flag=True, help="Do not start the MCP servers; list the built-in tools alone.")
def command(as_json: bool, no_servers: bool, **values: Any) -> None:  # noqa: FBT001
    """List the tools that a run here would offer, with their cost, and the others with the reason."""
    from compositor.cli.inputs import opening_from
    from compositor.opened import open_session

    opened = open_session(opening_from(values, interactive=True))
    news = None if no_servers or not opened.servers else _ask(opened)
    report = tool_report(opened, news)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2))
    else:
        _print(report)


def tool_report(opened: Opened, news: News | None) -> dict[str, Any]:
    """Every tool with origin, tokens in full and whether it is deferred; what was left out; the sums (R250, R252)."""
    head = opened.conversation.prefix.head.parts
    plain = [*(tool for tool in head.tools if not tool.definition.deferred), *(news.plain if news else ())]
    deferred = [*(tool for tool in head.tools if tool.definition.deferred), *(news.deferred if news else ())]
    omissions = [*(omission for omission in head.omissions if _is_tool(omission)), *(news.omissions if news else ())]
    rows = [_row(tool) for tool in (*plain, *deferred)]
    catalog = sum(_tokens(note.text.encode()) for note in news.notes) if news else 0
    in_full = sum(row["tokens"] for row in rows)
    sent = sum(row["tokens"] for row in rows if not row["deferred"]) + catalog
    return {
        "tools": rows,
        "omitted": [
            {"what": omission.what, "reason": omission.reason, "step": omission.step} for omission in omissions
        ],
        "tokens": {"in_full": in_full, "with_deferral": sent, "saved": in_full - sent, "method": "estimate"},
        "servers": [server.name for server in opened.servers],
    }


def _ask(opened: Opened) -> News:
    """What the servers offer, after each of them has started or failed."""
    import anyio

    from compositor.runtime.offering import make_offering
    from compositor.wiring import session_services

    async def work() -> News:
        async with session_services(opened) as services:
            if services.servers is not None:
                await services.servers.settle()
            offering = make_offering(services.servers, opened.contract, opened.conversation, opened.around.tool_search)
            if offering is None:
                raise AssertionError("servers were configured")
            return await offering.news()

    return anyio.run(work)


def _row(tool: HeadTool) -> dict[str, Any]:
    from compositor.context.wire.canonical import encode_tool

    definition = tool.definition
    return {
        "name": definition.name,
        "real_name": tool.origin.source.name,
        "origin": definition.origin.value,
        "deferred": definition.deferred,
        "concurrency": definition.concurrency.value,
        "tokens": _tokens(encode_tool(msgspec.structs.replace(definition, deferred=False))),
        "reason": tool.origin.gate,
    }


def _tokens(data: bytes) -> int:
    from compositor.context.tokens import estimate_tokens

    return estimate_tokens(data)


def _is_tool(omission: Omission) -> bool:
    return omission.source is not None and omission.source.kind == "tool"


def _print(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("tool", "left"), ("origin", "left"), ("tokens", "right"), ("", "left")):
        table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in report["tools"]:
        state = "deferred" if row["deferred"] else ""
        table.add_row(*map(Text, (row["name"], row["origin"], str(row["tokens"]), state)))
    console = Console()
    console.print(table)
    tokens = report["tokens"]
    console.print(
        Text(
            f"\n{len(report['tools'])} tools: about {tokens['with_deferral']:,} tokens in a request, {tokens['in_full']:,} in "
            f"full; deferral saves {tokens['saved']:,}."
        )
    )
    for omission in report["omitted"]:
        console.print(Text(f"not offered: {omission['what']}: {omission['reason']}"), soft_wrap=True)
