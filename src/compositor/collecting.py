"""The sources of notes of one session, in the order in which their notes stand at the tail.

Decides which sources there are and their order; what each of them tells is its own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from compositor.adapters.collectors.background import BackgroundCollector
from compositor.adapters.collectors.changed_files import ChangedFilesCollector
from compositor.adapters.collectors.date import DateCollector
from compositor.adapters.collectors.editor import EditorCollector
from compositor.adapters.collectors.memory import MemoryCollector
from compositor.adapters.collectors.mentions import MentionCollector, Ways
from compositor.adapters.collectors.reminders import ReminderCollector
from compositor.adapters.collectors.skills import SkillCollector
from compositor.adapters.collectors.usage import Meter, UsageCollector
from compositor.adapters.collectors.version_state import VersionStateCollector
from compositor.adapters.editor_drop import EditorDrop, editor_file
from compositor.context.extensions.listing import MAX_DESCRIPTION, listing_budget
from compositor.context.extensions.telling import Room
from compositor.loop.opening import version_state
from compositor.runtime.collect import Collection, Source

if TYPE_CHECKING:
    from compositor.adapters.services import Services
    from compositor.adapters.tools.session_tools import SessionTools
    from compositor.opened import Opened
    from compositor.ports import Editor, ToolScope

BUDGET = "SLASH_COMMAND_TOOL_CHAR_BUDGET"
"""The variable that gives the list of skills a number of characters (project-conventions 5.3)."""


class Collecting(Struct, frozen=True, kw_only=True):
    """What the sources work on. `scope` is where the tools work now, `may_read` whether a path may be shown, `agents` who can be started.

    `meters` are those of the window and of the requests of a turn, where the model is told of them.
    """

    opened: Opened
    tools: SessionTools
    services: Services | None
    scope: Callable[[], ToolScope]
    may_read: Callable[[str], bool]
    editor: Editor | None = None
    agents: Callable[[], Iterable[str]] = tuple
    meters: tuple[Callable[[], Meter], Callable[[], Meter]] | None = None


def make_collection(given: Collecting) -> Collection:
    """All sources: what a prompt names first, then what is new around it, then what changed, each on its own."""
    services = given.services
    return Collection(tuple(_sources(given)), None if services is None else services.spawn)


def _sources(given: Collecting) -> Iterable[Source]:
    opened, around, files = given.opened, given.opened.around, given.tools.box.files
    state = version_state(around) if opened.contract.settings.compositor.version_state == "message" else ""
    if state:
        yield Source(name="version state", collector=VersionStateCollector(state))
    yield Source(name="date", collector=DateCollector(opened.clock.today, around.date))
    yield Source(
        name="mentions", collector=_mentions(given), matters="What the prompt names with @ could not be looked up"
    )
    yield Source(name="background", collector=BackgroundCollector(given.tools.box.background))
    yield Source(name="reminders", collector=_reminders(given))
    tools = {"Agent", "Skill"} & set(opened.contract.tools)
    if opened.shelf is not None and tools:
        yield Source(name="skills", collector=SkillCollector(opened.shelf, _listing_room(opened), tools))
    memory = MemoryCollector(around.memory_place, around.memory, files.seed)
    yield Source(name="memory", collector=memory)
    yield Source(
        name="changed files",
        collector=ChangedFilesCollector(files, given.may_read, around.cwd),
        matters="Whether files that you saw were changed by somebody else could not be found out",
    )
    drop = EditorDrop(editor_file(opened.home, opened.header.cwd), around.cwd)
    yield Source(name="editor", collector=EditorCollector(given.editor or drop, given.may_read))
    if given.meters is not None:
        yield Source(name="usage", collector=UsageCollector(*given.meters))


def _reminders(given: Collecting) -> ReminderCollector:
    style = given.opened.around.style
    name = "" if style is None else style.name
    return ReminderCollector(given.tools.mode, given.tools.tasks.open_lines, given.opened.contract.tools, name)


def _listing_room(opened: Opened) -> Room:
    settings, fixed = opened.contract.settings, opened.environment.variables.get(BUDGET, "")
    window = opened.contract.window.tokens
    budget = listing_budget(window, settings.skill_listing_budget_fraction, int(fixed) if fixed.isdecimal() else None)
    return Room(budget, settings.skill_listing_max_desc_chars or MAX_DESCRIPTION)


def _mentions(given: Collecting) -> MentionCollector:
    servers = None if given.services is None else given.services.servers
    ways = Ways(
        table=given.tools.box.files,
        scope=given.scope,
        may_read=given.may_read,
        agents=given.agents,
        servers=servers,
        server_names=lambda: [server.name for server in given.opened.servers],
    )
    return MentionCollector(ways)
