"""The built-in tools for the session itself: questions, plans, lists of tasks, worktrees (project-conventions 9.2).

Decides texts and schemas. Never performs a call.
"""

from __future__ import annotations

from compositor.types.tools import Concurrency, ToolDefinition

from .shapes import choice, flag, listed, object_schema, object_shape, text

QUESTION_TEXT = """\
Asks the person one to four questions and waits for the answers. For decisions that are theirs and that you cannot find in the \
code or the request; never for permission to go on. Every question also takes an answer in the person's own words."""

ENTER_PLAN_TEXT = """\
Enters plan mode: you may only read and search until the person approves a plan. For work with several ways to do it, or where \
doing the wrong thing is costly; not for small or clear tasks."""

EXIT_PLAN_TEXT = """\
Hands in the plan and asks the person to approve it; approval ends plan mode. Only in plan mode, and only for work that \
changes something."""

ENTER_WORKTREE_TEXT = """\
Makes a git worktree with a branch of its own and moves the shell into it, so that work does not touch the person's checkout. \
Only when the person asks for a worktree. Use absolute paths below it in file tools."""

EXIT_WORKTREE_TEXT = """\
Leaves the worktree of this session. `keep` leaves it and its branch where they are; `remove` deletes both and is refused while \
there are changes or commits of its own, unless `discard_changes` is set."""

TODO_TEXT = """\
Replaces the list of tasks that the person sees. For work of three or more steps: exactly one task is in progress, and a task \
is completed only when it is done entirely."""

TASK_CREATE_TEXT = """\
Adds a task to the list that the person sees. For work of three or more steps."""

TASK_UPDATE_TEXT = """\
Changes a task: status, text, owner, or what it waits for. Set `in_progress` before you begin and `completed` only when all of \
it is done; `deleted` takes it away."""

_STATUS = ("pending", "in_progress", "completed")

SESSION_TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        name="AskUserQuestion",
        description=QUESTION_TEXT,
        read_only=True,
        input_schema=object_schema(
            ("questions",),
            questions=listed(
                object_shape(
                    ("question", "header", "options"),
                    question=text(),
                    header=text("A label of at most 12 characters."),
                    options=listed(
                        object_shape(("label",), label=text(), description=text("What choosing it means.")),
                        minItems=2,
                        maxItems=4,
                    ),
                    multiSelect=flag("Several options may be chosen."),
                ),
                "What to ask.",
                minItems=1,
                maxItems=4,
            ),
        ),
    ),
    ToolDefinition(name="EnterPlanMode", description=ENTER_PLAN_TEXT, read_only=True, input_schema=object_schema(())),
    ToolDefinition(
        name="EnterWorktree",
        description=ENTER_WORKTREE_TEXT,
        input_schema=object_schema((), name=text("Name of worktree and branch; made up when left out.")),
    ),
    ToolDefinition(
        name="ExitPlanMode",
        description=EXIT_PLAN_TEXT,
        read_only=True,
        input_schema=object_schema(("plan",), plan=text("The whole plan, as Markdown.")),
    ),
    ToolDefinition(
        name="ExitWorktree",
        description=EXIT_WORKTREE_TEXT,
        input_schema=object_schema(
            ("action",),
            action=choice(("keep", "remove"), "What becomes of it."),
            discard_changes=flag("Lose what is in it."),
        ),
    ),
    ToolDefinition(
        name="TaskCreate",
        description=TASK_CREATE_TEXT,
        read_only=True,
        input_schema=object_schema(
            ("subject", "description"),
            subject=text("A short title, as an order."),
            description=text("What has to be done."),
            activeForm=text("The title as it reads while the task is in progress."),
            metadata={"type": "object", "description": "Anything to keep with it."},
        ),
    ),
    ToolDefinition(
        name="TaskGet",
        description="Shows one task with everything that is known of it.",
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(("taskId",), taskId=text("Id of the task.")),
    ),
    ToolDefinition(
        name="TaskList",
        description="Lists all tasks with their state and what they wait for.",
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(()),
    ),
    ToolDefinition(
        name="TaskUpdate",
        description=TASK_UPDATE_TEXT,
        read_only=True,
        input_schema=object_schema(
            ("taskId",),
            taskId=text("Id of the task."),
            subject=text("New title."),
            description=text("New description."),
            activeForm=text("New title while in progress."),
            status=choice((*_STATUS, "deleted"), "New state."),
            addBlocks=listed(text(), "Tasks that wait for this one."),
            addBlockedBy=listed(text(), "Tasks that this one waits for."),
            owner=text("Who works on it."),
            metadata={"type": "object", "description": "Keys to set; null takes a key away."},
        ),
    ),
    ToolDefinition(
        name="TodoWrite",
        description=TODO_TEXT,
        read_only=True,
        input_schema=object_schema(
            ("todos",),
            todos=listed(
                object_shape(
                    ("content", "status", "activeForm"),
                    content=text("The task, as an order."),
                    status=choice(_STATUS),
                    activeForm=text("The same while it is in progress."),
                ),
                "All tasks, in order.",
            ),
        ),
    ),
)
