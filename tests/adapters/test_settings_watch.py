"""A settings file that changes while a session runs is noticed once; a broken one leaves the old settings in force."""

from pathlib import Path

from compositor.adapters.settings_files import find_places, load_settings
from compositor.adapters.settings_watch import SettingsWatch


def test_a_change_is_told_once_and_a_broken_file_is_an_error(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    folder = project / ".claude"
    folder.mkdir(parents=True)
    home.mkdir()
    places = find_places(str(project), {"HOME": str(home)}, system=str(tmp_path / "none"))
    watch = SettingsWatch(places, lambda: load_settings(places))
    assert watch.changed() is None
    (folder / "settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    found = watch.changed()
    assert found is not None
    assert found.settings is not None
    assert found.settings.permissions.deny == ("Bash",)
    assert found.files == (("project_settings", str(folder / "settings.json")),)
    assert watch.changed() is None
    (folder / "settings.json").write_text("{")
    broken = watch.changed()
    assert broken is not None
    assert broken.settings is None
    assert broken.problem
    assert watch.changed() is None
    (folder / "settings.json").unlink()
    gone = watch.changed()
    assert gone is not None
    assert gone.settings is not None


def test_a_drop_in_of_the_managed_settings_is_watched_too(tmp_path: Path) -> None:
    system, project = tmp_path / "system", tmp_path / "project"
    (system / "managed-settings.d").mkdir(parents=True)
    project.mkdir()
    drop_in = system / "managed-settings.d" / "10.json"
    drop_in.write_text("{}")
    places = find_places(str(project), {"HOME": str(tmp_path / "home")}, system=str(system))
    watch = SettingsWatch(places, lambda: load_settings(places))
    drop_in.write_text('{"permissions": {"deny": ["Bash"]}}')
    found = watch.changed()
    assert found is not None
    assert found.files == (("policy_settings", str(drop_in)),)
