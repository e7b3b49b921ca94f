"""Any record that a transcript can hold, as a strategy."""

import string

import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from compositor.context.transcript.codec import (
    SessionHeader,
)
from compositor.types.attachments import (
    DiffAttachment,
    FileAttachment,
    ListingAttachment,
    MediaAttachment,
    QueuedInput,
    TextAttachment,
    UnknownAttachment,
)
from compositor.types.blocks import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from compositor.types.entries import AssistantEntry, AttachmentEntry, MarkerEntry, Origin, UnknownEntry, UserEntry
from compositor.types.gathering import FactState, Gathered
from compositor.types.journal import OutcomeRecord, SendOutcome, SendRecord, SentEntry
from compositor.types.provenance import Lane
from compositor.types.request import CacheRegion, MarkerPlan, RequestOptions, Ttl
from compositor.types.snapshot import EventName, Latch, PrefixEvent
from compositor.types.usage import CacheCreation, Usage

# Any text that UTF-8 can hold, with the characters that have broken line formats before.
texts = st.text(st.characters(exclude_categories=("Cs",))) | st.sampled_from(
    ["\u2028\u2029\x85", "\0\x1b\x7f", "\r\n", ""]
)
names = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=12)
counts = st.integers(0, 2**53 - 1)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
raws = st.dictionaries(names, values, max_size=3).map(lambda value: Raw(msgspec.json.encode(value)))
optional_raws = st.none() | raws
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cache_creation_input_tokens=st.none() | counts,
    cache_read_input_tokens=st.none() | counts,
    cache_creation=st.none() | st.builds(CacheCreation, counts, counts),
)
unknown_blocks = st.builds(
    lambda kind, fields: UnknownBlock(f"new_{kind}", Raw(msgspec.json.encode({"type": f"new_{kind}", "data": fields}))),
    names,
    values,
)
result_blocks = (
    st.builds(TextBlock, texts)
    | st.builds(ImageBlock, raws)
    | st.builds(DocumentBlock, raws, st.none() | texts, st.none() | texts)
    | st.builds(ToolReferenceBlock, names)
    | unknown_blocks
)
blocks = (
    result_blocks
    | st.builds(ThinkingBlock, texts, texts)
    | st.builds(RedactedThinkingBlock, texts)
    | st.builds(ToolUseBlock, names, names, raws)
    | st.builds(
        ToolResultBlock,
        names,
        st.none() | texts | st.lists(result_blocks, max_size=2).map(tuple),
        st.none() | st.booleans(),
    )
)
contents = st.lists(blocks, max_size=4).map(tuple)
bare = {"uuid": names, "parent": st.none() | names, "time": texts}
# Fields that no record of this version has.
extras = st.dictionaries(names.map("x_{}".format), values, max_size=2).map(
    lambda value: Raw(msgspec.json.encode(value))
)
envelope = {**bare, "extra": extras}
entries = (
    st.builds(UserEntry, **envelope, content=contents, origin=st.sampled_from(Origin), is_meta=st.booleans())
    | st.builds(
        AssistantEntry,
        **envelope,
        message_id=names,
        model=texts,
        content=contents,
        stop_reason=st.none() | names,
        usage=st.none() | usages,
        prefix_digest=st.none() | names,
    )
    | st.builds(
        AttachmentEntry,
        **envelope,
        attachment=st.builds(
            TextAttachment, kind=names, text=texts, path=st.none() | texts, line=st.none() | counts, name=names
        )
        | st.builds(FileAttachment, kind=names, path=texts, text=texts, first=counts, total=counts, named=texts)
        | st.builds(DiffAttachment, kind=names, path=texts, diff=texts, left_out=texts, added=counts, removed=counts)
        | st.builds(
            ListingAttachment,
            kind=names,
            path=texts,
            names=st.lists(texts, max_size=3).map(tuple),
            total=counts,
            named=texts,
        )
        | st.builds(MediaAttachment, kind=names, content=contents, path=texts, named=texts)
        | st.builds(QueuedInput, kind=names, text=texts, origin=st.sampled_from(Origin))
        | st.builds(UnknownAttachment, kind=names, raw=raws),
    )
    | st.builds(MarkerEntry, **envelope, subtype=names, detail=raws)
    | st.builds(UnknownEntry, **bare, type=names, raw=raws)
)
events = st.builds(PrefixEvent, name=st.sampled_from(EventName), cause=texts, entry=st.none() | names)
options = st.builds(
    RequestOptions,
    model=texts,
    max_tokens=counts,
    stream=st.booleans(),
    thinking=optional_raws,
    tool_choice=optional_raws,
    metadata=optional_raws,
    temperature=st.none() | st.floats(0, 1),
    context_management=optional_raws,
    output_config=optional_raws,
    speed=st.none() | names,
    stop_sequences=st.none() | st.lists(texts, max_size=2).map(tuple),
    diagnostics=optional_raws,
    compaction=optional_raws,
    betas=st.lists(names, max_size=2).map(tuple),
    api_version=names,
    caching=st.booleans(),
    ttl=st.sampled_from(Ttl),
    skip_write=st.booleans(),
    pin=st.none() | counts,
    scopes=st.none() | st.tuples(st.none() | names, st.none() | names),
)
markers = st.builds(
    MarkerPlan,
    region=st.sampled_from(CacheRegion),
    index=counts,
    block=counts,
    ttl=st.sampled_from(Ttl),
    reason=texts,
    scope=st.none() | names,
)
sends = st.builds(
    SendRecord,
    request_id=names,
    time=names,
    head_digest=names,
    view_digest=names,
    size=counts,
    leaf=st.none() | names,
    sent=st.lists(st.builds(SentEntry, names, st.sampled_from(Lane)), max_size=3).map(tuple),
    markers=st.lists(markers, max_size=2).map(tuple),
    options=options,
    profile=names,
    purpose=st.just("") | names,
    events=st.lists(events, max_size=2).map(tuple),
    latches=st.lists(st.sampled_from(Latch), max_size=2).map(tuple),
    refused_images=st.lists(names, max_size=2).map(tuple),
    cleared=st.lists(names, max_size=2).map(tuple),
    forecast_read=st.none() | counts,
    forecast_written=st.none() | counts,
    gathered=st.lists(
        st.builds(
            Gathered,
            name=names,
            state=st.sampled_from(FactState),
            seconds=st.floats(0, 9),
            size=counts,
            waited=st.floats(0, 9),
            reason=texts,
        ),
        max_size=2,
    ).map(tuple),
)
outcomes = st.builds(
    OutcomeRecord,
    request_id=names,
    time=names,
    outcome=st.sampled_from(SendOutcome),
    usage=st.none() | usages,
    detail=texts,
    verdict=texts,
    cause=texts,
    lost=counts,
    said=texts,
)
headers = st.builds(
    SessionHeader,
    session_id=names,
    time=names,
    cwd=texts,
    program=texts,
    forked_from=st.none() | names,
    imported_from=st.none() | texts,
    extra=extras,
)
records = headers | entries | events | sends | outcomes
