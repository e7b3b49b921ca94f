"""Another effort is a possible break, never a certain one (R261)."""

import msgspec.structs
import pytest

from compositor.context.cache.changes import possible_break
from compositor.types.json import raw_json
from tests.properties.building import OPTIONS


@pytest.mark.req("R261")
def test_a_change_of_effort_is_told_as_possible() -> None:
    low = msgspec.structs.replace(OPTIONS, output_config=raw_json({"effort": "low"}))
    said = possible_break(OPTIONS, low)
    assert "output_config changed" in said
    assert "possible" in said
    assert "certain" not in said
    assert possible_break(low, low) == ""
    assert possible_break(low, msgspec.structs.replace(low, max_tokens=9)) == ""
