"""A settings file that changes while a session runs is noticed once; a broken one leaves the old settings in force."""

from pathlib import Path

from compositor.adapters.settings_files import find_places, load_settings
from compositor.adapters.settings_watch import SettingsWatch
from compositor.config.settings import Settings
from compositor.errors import ConfigError


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
    assert isinstance(found, Settings)
    assert found.permissions.deny == ("Bash",)
    assert watch.changed() is None
    (folder / "settings.json").write_text("{")
    broken = watch.changed()
    assert isinstance(broken, ConfigError)
    assert watch.changed() is None
    (folder / "settings.json").unlink()
    assert isinstance(watch.changed(), Settings)
