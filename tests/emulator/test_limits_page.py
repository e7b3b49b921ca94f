"""The page of limits names what the requirements say may not be claimed, and the disagreements that the tests know."""

import pytest

from tests.emulator.test_conformance import OTHER_RULE, REFUSED, TAKEN


@pytest.fixture
def page(repository):
    return (repository / "docs/reference/emulator-limits.md").read_text(encoding="utf-8")


@pytest.mark.req("R406")
def test_it_says_that_weighing_of_instructions_is_not_known(page):
    assert "How a model weighs instructions that contradict each other is not known" in page


@pytest.mark.req("R407")
def test_it_says_that_training_on_authority_is_not_known(page):
    assert "How the service trains its models to treat authority lanes is not known" in page


@pytest.mark.req("R408")
def test_it_says_that_hits_are_estimates_until_usage_confirms_them(page, repository):
    assert "estimates until the usage of a real answer confirms" in page
    assert "reports call the one estimated and the\nother reported" in (
        repository / "docs/reference/emulator.md"
    ).read_text(encoding="utf-8")


def test_it_lists_every_disagreement_of_the_two_judges(page):
    table = page.split("## Where the two judges differ", 1)[1]
    rules = {name.partition("-")[0] for name in TAKEN} | {rule for rule, _ in [*OTHER_RULE.values(), *REFUSED.values()]}
    assert {rule for rule in rules if f"({rule})" not in table} == set()
