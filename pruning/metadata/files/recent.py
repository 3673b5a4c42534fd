"""Values that are held in memory while they are among those used last."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


@dataclass(slots=True)
class Recent(Generic[KeyT, ValueT]):
    """The values used last by their keys, as many as their weights permit. Threads may share it."""

    weight_max: int
    _values: OrderedDict[KeyT, tuple[ValueT, int]] = field(default_factory=OrderedDict)
    _weight: int = 0
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value of a key; None if there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def keep(self, key: KeyT, value: ValueT, weight: int) -> None:
        """Hold the value of a key, unless it is too heavy; let go what was not used for longest."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._weight -= before
            if weight > self.weight_max:
                return
            self._values[key] = (value, weight)
            self._weight += weight
            while self._weight > self.weight_max:
                _, (_, oldest) = self._values.popitem(last=False)
                self._weight -= oldest

    def clear(self) -> None:
        """Let go all values."""
        with self._lock:
            self._values.clear()
            self._weight = 0
