"""Prices: every row of the reference, and sums of usage."""

import msgspec
import pytest

from compositor.config.price import Price, Tier, billed, cost, find_price, known_prices, priced
from compositor.config.profile import find_profile, known_profiles
from compositor.context.wire.openai_answers import usage_of
from compositor.errors import ConfigError
from compositor.types.usage import CacheCreation, Usage

# US dollars for a million tokens: input, output, five-minute write, one-hour write, read (wire page 9.3).
PRICES = {
    "claude-fable-5-1": (10, 50, 12.50, 20, 0.25),
    "claude-mythos-5-1": (10, 50, 12.50, 20, 0.25),
    "claude-fable-5": (10, 50, 12.50, 20, 1.00),
    "claude-mythos-5": (10, 50, 12.50, 20, 1.00),
    "claude-opus-5-5": (4, 20, 5, 8, 0.20),
    "claude-opus-5": (5, 25, 6.25, 10, 0.50),
    "claude-opus-4-8": (5, 25, 6.25, 10, 0.50),
    "claude-opus-4-7": (5, 25, 6.25, 10, 0.50),
    "claude-opus-4-6": (5, 25, 6.25, 10, 0.50),
    "claude-opus-4-5": (5, 25, 6.25, 10, 0.50),
    "claude-sonnet-5-5": (2, 10, 2.50, 4, 0.10),
    "claude-sonnet-5": (2, 10, 2.50, 4, 0.20),
    "claude-sonnet-4-6": (3, 15, 3.75, 6, 0.30),
    "claude-sonnet-4-5": (3, 15, 3.75, 6, 0.30),
    "claude-haiku-5-5": (0.10, 0.50, 0.125, 0.20, 0.01),
    "claude-haiku-4-5": (1, 5, 1.25, 2, 0.10),
}
UNPRICED = {"claude-fable-5-2", "claude-mythos-5-2", "claude-mythos-preview"}


@pytest.mark.parametrize("model", PRICES)
def test_each_component_of_a_price(model: str) -> None:
    price = find_price(model)
    assert price is not None
    # 100,000 tokens each: no step is passed, and a million is ten times that.
    usages = (
        Usage(input_tokens=100_000),
        Usage(output_tokens=100_000),
        Usage(cache_creation_input_tokens=100_000),
        Usage(cache_creation_input_tokens=100_000, cache_creation=CacheCreation(ephemeral_1h_input_tokens=100_000)),
        Usage(cache_read_input_tokens=100_000),
    )
    assert [cost(usage, price) * 10 for usage in usages] == pytest.approx(PRICES[model])


def test_every_model_has_a_price_or_is_known_to_have_none() -> None:
    assert {price.model for price in known_prices()} == set(PRICES)
    assert {profile.id for profile in known_profiles()} == set(PRICES) | UNPRICED
    assert all(find_price(model) is None for model in UNPRICED)
    assert find_price("somebody-elses-model") is None


def test_a_price_is_found_by_any_name_of_the_model() -> None:
    assert find_price("opus") == find_price("claude-opus-5-5")
    assert find_price("us.anthropic.claude-opus-4-5-20251101-v1:0") == find_price("claude-opus-4-5")


def test_multipliers_of_the_cache() -> None:
    for price in known_prices():
        for tier in price.tiers:
            assert tier.write_5m == pytest.approx(1.25 * tier.input)
            assert tier.write_1h == pytest.approx(2 * tier.input)


def test_the_step_of_haiku_goes_by_the_whole_prompt_and_holds_for_every_token() -> None:
    price = find_price("claude-haiku-5-5")
    assert price is not None
    at_the_step = Usage(input_tokens=40_000, cache_read_input_tokens=60_000, output_tokens=1_000)
    above = Usage(input_tokens=40_001, cache_read_input_tokens=60_000, output_tokens=1_000)
    assert cost(at_the_step, price) == pytest.approx((40_000 * 0.10 + 60_000 * 0.01 + 1_000 * 0.50) / 1e6)
    assert cost(above, price) == pytest.approx((40_001 * 0.50 + 60_000 * 0.05 + 1_000 * 2.50) / 1e6)


def test_a_mixed_usage_adds_up() -> None:
    price = find_price("claude-opus-5-5")
    assert price is not None
    usage = Usage(
        input_tokens=1_000,
        output_tokens=2_000,
        cache_creation_input_tokens=30_000,
        cache_read_input_tokens=400_000,
        cache_creation=CacheCreation(ephemeral_5m_input_tokens=10_000, ephemeral_1h_input_tokens=20_000),
    )
    dollars = (1_000 * 4 + 2_000 * 20 + 10_000 * 5 + 20_000 * 8 + 400_000 * 0.20) / 1e6
    assert cost(usage, price) == pytest.approx(dollars)


def test_nothing_costs_nothing() -> None:
    assert all(cost(Usage(), price) == 0 for price in known_prices())


def test_prices_say_where_they_come_from() -> None:
    for price in known_prices():
        assert price.source
        assert find_profile(price.model).profile.id == price.model
        assert [tier.above for tier in price.tiers] == sorted(tier.above for tier in price.tiers)
        assert price.tiers[0].above == 0


def test_settings_set_or_change_a_price() -> None:
    own = priced("house-model", {"house-model": {"input": 1, "output": 2}})
    assert own is not None
    tier = own.tier(50_000)
    # Writes 1.25 and 2 times, reads a tenth of the input price (wire page 4.5).
    assert (tier.input, tier.output, tier.write_5m, tier.write_1h, tier.read) == (1, 2, 1.25, 2.0, 0.1)
    known = find_price("claude-opus-5")
    cheaper = priced("claude-opus-5", {"claude-opus-5": {"read": 0.2}})
    assert known is not None
    assert cheaper is not None
    assert (cheaper.tier(1).read, cheaper.tier(1).input) == (0.2, known.tier(1).input)
    assert priced("claude-opus-5", {}) == known
    assert priced("house-model", {}) is None


@pytest.mark.parametrize(
    "said",
    [{"input": 1}, {"input": -1, "output": 1}, {"input": 1, "output": 1, "tea": 2}, {"input": True, "output": 1}],
)
def test_what_is_no_price_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as problem:
        priced("house-model", {"house-model": said})
    assert problem.value.key == "compositor.prices.house-model"


@pytest.mark.parametrize(
    "usage",
    [
        # Form 1: the prompt count includes what was read from the cache (F39).
        msgspec.convert(
            usage_of(
                {"prompt_tokens": 17_111, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 17_102}}
            ),
            Usage,
        ),
        # Form 2: the native one.
        Usage(input_tokens=9, cache_read_input_tokens=17_102, cache_creation_input_tokens=0),
    ],
)
def test_both_forms_of_usage_cost_the_same(usage: Usage) -> None:
    """F39: each token in exactly one bucket; 9 * 1 + 17,102 * 0.1 = 1,719.2 at a dollar a token."""
    tier = Tier(above=0, input=1e6, output=5e6, write_5m=1.25e6, write_1h=2e6, read=0.1e6)
    price = Price(model="m", tiers=(tier,), source="the report", date="", verified=True)
    assert cost(usage, price) == pytest.approx(1_719.2)


def test_writes_cost_the_price_of_their_lifetime() -> None:
    tier = Tier(above=0, input=1e6, output=5e6, write_5m=1.25e6, write_1h=2e6, read=0.1e6)
    price = Price(model="m", tiers=(tier,), source="the report", date="", verified=True)
    short = Usage(cache_creation_input_tokens=100, cache_creation=CacheCreation(ephemeral_5m_input_tokens=100))
    long = Usage(cache_creation_input_tokens=100, cache_creation=CacheCreation(ephemeral_1h_input_tokens=100))
    assert (cost(short, price), cost(long, price)) == pytest.approx((125.0, 200.0))


def test_answers_of_several_models_are_paid_by_their_own_prices() -> None:
    usages = (Usage(input_tokens=1_000_000), Usage(input_tokens=1_000_000))
    assert billed(usages, ("claude-opus-5-5", "claude-sonnet-5-5"), {}) == 4 + 2
    assert billed(usages, ("claude-opus-5-5", "nobody-knows"), {}) is None
