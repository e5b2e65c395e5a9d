"""Something that is done regularly, beside the work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Ticker:
    """Calls a function at regular intervals from a thread of its own, until it is closed."""

    def __init__(self, interval_s: float, function: Callable[[], object]) -> None:
        self._interval_s = interval_s
        self._function = function
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self._interval_s):
            self._function()

    def close(self) -> None:
        """Stop; the call under way is waited for."""
        self._closing.set()
        self._thread.join()

    def __enter__(self) -> Ticker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
