"""The shared flags: how they are spelled, and the one value they become."""

from pathlib import Path
from typing import Any

import click
import pytest

from compositor.cli.options import contract_options, flags_from, run_options
from compositor.config.flags import Flags, PromptText
from compositor.config.layer import Level
from compositor.config.profile import Effort
from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode

SHARED = """
--project --model --effort --max-turns --permission-mode --allowed-tools --disallowed-tools --tools --settings
--setting-sources --add-dir --system-prompt --system-prompt-file --append-system-prompt --append-system-prompt-file
--exclude-dynamic-system-prompt-sections
""".split()
OF_A_RUN = ["--output-format", "--continue", "--resume", "--offline"]


def parse(*arguments: str) -> dict[str, Any]:
    """The keyword arguments that a command with every flag receives."""
    seen: dict[str, Any] = {}

    @click.command()
    @run_options
    def command(**values: Any) -> None:
        seen.update(values)

    command.main(list(arguments), standalone_mode=False)
    return seen


def flags(*arguments: str) -> Flags:
    return flags_from(parse(*arguments))


def names(decorate: Any) -> set[str]:
    @click.command()
    @decorate
    def command(**values: Any) -> None: ...

    return {name for parameter in command.params for name in parameter.opts if name.startswith("--")}


def test_nothing_said_is_nothing_said() -> None:
    assert flags() == Flags()


def test_every_flag_is_there() -> None:
    assert set(SHARED) <= names(contract_options)
    assert set(OF_A_RUN).isdisjoint(names(contract_options))
    assert {*SHARED, *OF_A_RUN} <= names(run_options)


def test_every_flag_is_explained() -> None:
    @click.command()
    @run_options
    def command(**values: Any) -> None: ...

    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert len((parameter.help or "").split()) > 3, parameter.name


@pytest.mark.req("R002", "R007")
def test_all_flags_together(tmp_path: Path) -> None:
    extra = tmp_path / "extra.md"
    extra.write_text("from a file\n", "utf-8")
    found = flags(
        *("--model", "opus", "--effort", "high", "--max-turns", "3", "--permission-mode", "plan"),
        *("--allowed-tools", "Bash(git log *),Edit", "--allowedTools", "Edit Write"),
        *("--disallowed-tools", "WebFetch", "--tools", "Read,Grep", "--settings", '{"model": "haiku"}'),
        *("--setting-sources", "user", "--add-dir", str(tmp_path), "--system-prompt", "custom"),
        *("--append-system-prompt", "inline", "--append-system-prompt-file", str(extra)),
        *("--exclude-dynamic-system-prompt-sections", "the prompt"),
    )
    assert found == Flags(
        model="opus",
        effort=Effort.HIGH,
        max_turns=3,
        permission_mode=PermissionMode.PLAN,
        allowed_tools=("Bash(git log *)", "Edit", "Write"),
        disallowed_tools=("WebFetch",),
        tools=("Read", "Grep"),
        settings='{"model": "haiku"}',
        setting_sources=(Level.USER,),
        add_dirs=(str(tmp_path),),
        system_prompt=PromptText("custom"),
        append_system_prompt=(PromptText("inline"), PromptText("from a file\n", file=str(extra))),
        exclude_dynamic_sections=True,
    )


def test_what_belongs_to_the_command_stays_with_it(tmp_path: Path) -> None:
    values = parse("--project", str(tmp_path), "-r", "abc", "--output-format", "json", "--offline", "s.yaml", "do it")
    assert (values["prompt"], values["project"], values["resume"]) == ("do it", tmp_path, "abc")
    assert (values["output_format"], values["offline"], values["continue_session"]) == ("json", "s.yaml", False)


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        ((), None),
        (("--tools", "default"), None),
        (("--tools", ""), ()),
        (("--tools", "Read"), ("Read",)),
        (("--tools", "Read", "--tools", "Grep"), ("Read", "Grep")),
    ],
)
def test_the_forms_of_the_tool_list(arguments: tuple[str, ...], tools: tuple[str, ...] | None) -> None:
    assert flags(*arguments).tools == tools


def test_no_setting_sources_is_something_else_than_all_of_them() -> None:
    assert flags("--setting-sources", "").setting_sources == ()
    assert flags().setting_sources is None


def test_manual_is_the_default_mode() -> None:
    assert flags("--permission-mode", "manual").permission_mode is PermissionMode.DEFAULT


def test_an_empty_custom_prompt_is_one() -> None:
    assert flags("--system-prompt", "").system_prompt == PromptText("")


def test_two_custom_prompts_exclude_each_other(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("text", "utf-8")
    with pytest.raises(UsageError, match="'--system-prompt' and '--system-prompt-file'") as caught:
        flags("--system-prompt", "a", "--system-prompt-file", str(file))
    assert caught.value.exit_code == 2
    assert flags("--system-prompt-file", str(file)).system_prompt == PromptText("text", file=str(file))


@pytest.mark.parametrize("option", ["--system-prompt-file", "--append-system-prompt-file"])
def test_a_prompt_file_has_to_be_there_and_text(option: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.md.*No such file"):
        flags(option, str(tmp_path / "nowhere.md"))
    (tmp_path / "binary").write_bytes(b"ok\xff")
    with pytest.raises(UsageError, match=r"not UTF-8.*byte 2"):
        flags(option, str(tmp_path / "binary"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--effort", "huge"),
        ("--permission-mode", "yolo"),
        ("--max-turns", "0"),
        ("--project", "/no/such/place"),
        ("--add-dir", "/no/such/place"),
        ("--output-format", "xml"),
    ],
)
def test_bad_values_are_refused_by_name(arguments: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parse(*arguments)
    assert arguments[0] in caught.value.format_message()


def test_bad_lists_are_refused_with_the_known_words() -> None:
    with pytest.raises(UsageError, match=r"'managed'.*user, project, local"):
        flags("--setting-sources", "managed")
