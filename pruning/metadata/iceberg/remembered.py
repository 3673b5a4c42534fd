"""A bounded memory of what was read from files that never change."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

_Content = TypeVar("_Content")


class BoundedMemory(Generic[_Content]):
    """The contents that were used last, up to a limit of their weights; threads may share it."""

    def __init__(self, weight_max: int) -> None:
        self._weight_max = weight_max
        self._weight = 0
        self._contents: OrderedDict[Hashable, tuple[int, _Content]] = OrderedDict()
        self._lock = Lock()

    def content(
        self, key: Hashable, weight: int | Callable[[_Content], int], load: Callable[[], _Content]
    ) -> _Content:
        """Return the content of a key, which is loaded if it is not remembered.

        Args:
            key: A name that stands for one content for ever.
            weight: The content's weight, > 0, or what tells it of the content; one above the limit is not
                kept.
            load: Loads the content.
        """
        with self._lock:
            if key in self._contents:
                self._contents.move_to_end(key)
                return self._contents[key][1]
        content = load()
        weight = weight if isinstance(weight, int) else weight(content)
        with self._lock:
            if key not in self._contents and weight <= self._weight_max:
                self._contents[key] = (weight, content)
                self._weight += weight
            while self._weight > self._weight_max:
                _, (least_weight, _) = self._contents.popitem(last=False)
                self._weight -= least_weight
        return content
