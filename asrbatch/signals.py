"""Signals that end a run: the first one cleanly, the second at once."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)

SHOW_CURSOR = b"\x1b[?25h\n"
"""The progress bar hides it."""


@contextmanager
def stop_on_signals(stop: Callable[[str], None]) -> Iterator[list[int]]:
    """Call `stop` with the name of the first SIGINT or SIGTERM; exit at once at the second.

    Python runs signal handlers in the main thread alone, and only between two instructions,
    while a model may compute for many seconds in one. So the signals are read by a thread from the
    descriptor that Python writes them to as they come.

    Yields:
        The numbers of the signals received so far. To be used in the main thread.
    """
    received: list[int] = []

    def watch() -> None:
        while numbers := reader.recv(1):
            if numbers[0] not in SIGNALS:
                continue
            if received:
                if os.isatty(2):
                    os.write(2, SHOW_CURSOR)
                os._exit(128 + numbers[0])
            received.append(numbers[0])
            stop(signal.Signals(numbers[0]).name)
            logger.warning("stopping; finished work is kept; once more to stop at once")

    reader, writer = socket.socketpair()
    writer.setblocking(False)
    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    handlers = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield received
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        writer.close()
        watcher.join()
        reader.close()
