"""Values that can be made again, held up to a bound: the longest unused go first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shelf(Generic[K, V]):
    """Holds `room` of whatever `cost` counts, and always the value last asked for; safe for threads, and empty in
    another process.

    Two threads that ask for one value at once may both make it.
    """

    def __init__(self, room: int, cost: Callable[[V], int]) -> None:
        self.room, self.cost = room, cost
        self._held: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self.taken = 0

    def get(self, key: K, make: Callable[[K], V]) -> V:
        """The value held under `key`, else what `make` gives."""
        try:  # without the lock, since each of the two steps is one
            found = self._held[key]
            self._held.move_to_end(key)
            return found
        except KeyError:
            made = make(key)
        with self._lock:
            if key not in self._held:
                self._held[key] = made
                self.taken += self.cost(made)
                while self.taken > self.room and len(self._held) > 1:
                    self.taken -= self.cost(self._held.popitem(last=False)[1])
        return made

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        """Forgets all; who still holds a value keeps it."""
        with self._lock:
            self._held.clear()
            self.taken = 0

    def __reduce__(self) -> tuple[type["Shelf[K, V]"], tuple[int, Callable[[V], int]]]:
        return type(self), (self.room, self.cost)
