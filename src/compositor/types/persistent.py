"""Persistent append-only values: a sequence and a membership table that share their storage with their ancestors.

An extended value costs what is appended, not what is there already, and the value it was made from stays as it was. The
newest value of a line appends in place behind the end of its ancestors; an older one that is extended again copies.
Never removes, never changes an item.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Rope(Generic[T]):
    """An immutable sequence; `append_all` is amortized O(items appended)."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._length = len(self._items)

    def append_all(self, items: Iterable[T]) -> Rope[T]:
        """A new rope with `items` behind these; this rope is unchanged."""
        storage = self._items if len(self._items) == self._length else self._items[: self._length]
        storage.extend(items)
        longer: Rope[T] = Rope.__new__(Rope)
        longer._items = storage
        longer._length = len(storage)
        return longer

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        # A slice, not the storage: a younger rope may append to it while this one is walked.
        return iter(self._items[: self._length])

    def __getitem__(self, index: int) -> T:
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError(f"index {index} is outside a rope of {self._length} items")
        return self._items[position]

    def continues(self, other: Rope[T]) -> bool:
        """Whether this rope is `other` with more behind it, told from the storage alone: no item is compared."""
        return self._items is other._items and self._length >= other._length

    def tail(self, count: int) -> tuple[T, ...]:
        """The last `count` items (fewer when there are fewer), oldest first."""
        return tuple(self._items[max(self._length - count, 0) : self._length])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rope) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Rope({list(self)!r})"


class Ledger(Generic[K]):
    """An immutable set that remembers the order of arrival; `add_all` is amortized O(keys added)."""

    __slots__ = ("_count", "_places")

    def __init__(self, keys: Iterable[K] = ()) -> None:
        self._places: dict[K, int] = {}
        for key in keys:
            self._places.setdefault(key, len(self._places))
        self._count = len(self._places)

    def add_all(self, keys: Iterable[K]) -> Ledger[K]:
        """A new ledger that also holds `keys`; this one is unchanged.

        An older one that is given what a younger one was given first shares its storage, too: a tail that is rendered again copies nothing.
        """
        places, count = self._places, self._count
        fresh = [key for key in dict.fromkeys(keys) if key not in self]
        later = range(count, count + len(fresh))
        younger = len(places) - count
        if younger and [places.get(key) for key in fresh[:younger]] != list(later[:younger]):
            places, younger = {key: place for key, place in places.items() if place < count}, 0
        places.update(zip(fresh[younger:], later[younger:], strict=True))
        longer: Ledger[K] = Ledger.__new__(Ledger)
        longer._places = places
        longer._count = count + len(fresh)
        return longer

    def __contains__(self, key: K) -> bool:
        return self._places.get(key, self._count) < self._count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        return iter([key for key, place in self._places.items() if place < self._count])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and set(self) == set(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ledger({list(self)!r})"
