"""What a word is worth when things are found by words: the sums of BM25 (Robertson and Zaragoza, 2009).

Decides the formulas and where a text is cut into words. Which fields and words count, and what else does, is decided by who ranks.
"""

from __future__ import annotations

import math
import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def split_words(text: str) -> list[str]:
    """The words of a text, a path or a name, cut at capitals, digits and punctuation, in lower case."""
    return [found.lower() for found in _WORD.findall(text)]


def rarity(count: int, containing: int) -> float:
    """How much a word tells that `containing` of `count` documents hold: what is rare much, what all have next to nothing."""
    return math.log(1 + (count - containing + 0.5) / (containing + 0.5))


def relative_length(length: int, average: float, hold: float) -> float:
    """By what the weight of a word is divided in a text of this length: 1 in one of average length; `hold` of 0 ignores the length."""
    return 1 - hold + hold * length / average


def saturated(weight: float, k1: float) -> float:
    """What `weight` occurrences are worth: a repeated word soon stops to count, the sooner the smaller `k1` is."""
    return weight * (k1 + 1) / (weight + k1)
