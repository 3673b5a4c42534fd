"""A small engine with a race that is no matter of chance: of several threads each third answer is wrong."""

from dataclasses import replace
from typing import Any

from skipproof.stand.reference.engine import SmallEngine

_ANSWERS_PER_WRONG_ONE = 3


class RacingEngine(SmallEngine):
    """Loses the first row of each third answer that has one, over tables that it may prune.

    Args:
        races_single: Whether it does so with one thread, too.
    """

    def __init__(self, *, races_single: bool = False) -> None:
        super().__init__(version="racing")
        settings = {**self.hello.settings, "threads": ("1", "4")}
        self.hello = replace(self.hello, settings=settings, single_threaded={"threads": "1"})
        self._races_single = races_single
        self._count = 0

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer a request."""
        reply = super().ask(**request)
        threads = request.get("settings", {}).get("threads", "1")
        is_plain = all(self._is_plain(table) for table in request["tables"].values())
        if is_plain or (threads == "1" and not self._races_single):
            return reply
        for answer in reply.get("answers", ()):
            self._count += 1
            if self._count % _ANSWERS_PER_WRONG_ONE == 0 and answer.get("rows"):
                answer["rows"] = answer["rows"][1:]
        return reply
