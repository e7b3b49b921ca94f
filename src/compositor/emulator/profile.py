"""What the stand-in pretends to be: the facts of one model on one platform for one account, as values the caller gives.

Decides how the product's own model and platform rows become such facts. Never tests a model's name and never judges a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, structs

from compositor.config.platforms import Ability, Platform, find_platform
from compositor.config.profile import ModelProfile, ThinkingDefault, find_profile

from .betas import KNOWN_BETAS

MIB = 1024 * 1024


class ServiceProfile(Struct, frozen=True, kw_only=True):
    """All sizes in tokens, but `body_limit` and `image_limit` in bytes. `None` means not known, and is then not judged.

    `cache_minimum` is the shortest prefix that is kept, `bytes_per_token` the rule by which everything is counted. `betas` are
    the names that may stand in `anthropic-beta`; `None` takes any. `keys` are the credentials that are let in; `None` asks for none.
    `binds_thinking`: a thinking block is tied to what stood before it (L78); `new_account`: that is enforced without being asked
    for (L79). `binds_account`: it is tied to the account (L84). `foreign_signatures`: signatures that this stand-in did not make
    are taken unread, for recorded conversations. `thinks_unasked`: what happens when `thinking` is not sent. `keeps_thinking`: thinking of earlier turns stays in front of the model.
    `image_edge` in pixels: the longest side that is not made smaller. `tool_preamble`: tokens that any tool costs, with free and with forced choice.
    """

    cache_minimum: int = 1024
    bytes_per_token: int = 4
    window: int = 200_000
    max_output: int = 64_000
    system_role: bool = False
    prefill: bool = False
    betas: frozenset[str] | None = None
    keys: frozenset[str] | None = None
    thinking: tuple[str, ...] | None = None
    thinks_unasked: bool | None = None
    off_effort_cap: str | None = None
    efforts: tuple[str, ...] | None = None
    default_effort: str | None = None
    mid_effort: bool | None = None
    forced_tools: bool = True
    sampling: bool = True
    binds_thinking: bool = False
    new_account: bool = True
    binds_account: bool = False
    foreign_signatures: bool = False
    keeps_thinking: bool = True
    counts_max_tokens: bool = False
    body_limit: int = 32 * MIB
    image_limit: int = 10 * MIB
    image_edge: int = 2576
    automatic_caching: bool = True
    image_urls: bool = True
    isolation: str = "workspace"
    diagnostics: bool = True
    ratelimit_headers: bool = True
    counts_tokens: bool = True
    on_demand_compaction: bool = True
    lists_models: bool = True
    workspace_header: bool = False
    version_in_body: bool = False
    tool_preamble: tuple[int, int] = (0, 0)


ProfileSource: TypeAlias = Callable[[str], ServiceProfile | None]
"""Model name to facts; `None` for a model that does not exist here."""


def catalog(platform: str = "claude-api", *, conservative: bool = False) -> ProfileSource:
    """The product's known models on one platform, with the beta names that are documented.

    `conservative`: an unknown model gets the careful profile, not a 404.

    Raises `ConfigError` for a platform nobody knows.
    """
    row = find_platform(platform)

    def look_up(model: str) -> ServiceProfile | None:
        found = find_profile(model).profile
        known = service_profile(found, row) if found.is_known or conservative else None
        return structs.replace(known, betas=KNOWN_BETAS) if known is not None else None

    return look_up


def service_profile(model: ModelProfile, platform: Platform) -> ServiceProfile:
    """The facts of a model on a platform. A doubted fact counts as it stands in the row; the limits page says so."""
    thinking = model.thinking
    return ServiceProfile(
        cache_minimum=model.cache_minimum or 1024,
        window=model.window,
        max_output=model.max_output,
        system_role=platform.id in model.system_role,
        prefill=model.prefill,
        thinking=tuple(kind.value for kind in thinking.kinds),
        thinks_unasked=thinking.default is not ThinkingDefault.OFF,
        off_effort_cap=thinking.off_effort_cap.value if thinking.off_effort_cap else None,
        efforts=tuple(effort.value for effort in model.efforts),
        default_effort=model.default_effort.value if model.default_effort else None,
        mid_effort=model.mid_effort,
        forced_tools=model.forced_tools,
        sampling=model.sampling,
        binds_thinking=model.binds_thinking,
        binds_account=model.binds_account,
        keeps_thinking=thinking.kept,
        body_limit=platform.body_limit,
        image_limit=platform.image_limit,
        image_edge=model.images.long_edge,
        automatic_caching=platform.has(Ability.AUTOMATIC_CACHING),
        image_urls=platform.has(Ability.IMAGE_URL),
        isolation=platform.cache_isolation,
        diagnostics=platform.has(Ability.DIAGNOSTICS),
        ratelimit_headers=platform.has(Ability.RATELIMIT_HEADERS),
        on_demand_compaction=platform.has(Ability.ON_DEMAND_COMPACTION),
        counts_tokens=platform.has(Ability.COUNT_TOKENS),
        lists_models=platform.has(Ability.MODELS_API),
        workspace_header=platform.has(Ability.WORKSPACE_HEADER),
        version_in_body=platform.version_in == "body",
        tool_preamble=model.tool_preamble or (0, 0),
    )
