"""Errors to exit codes, and log lines to standard error."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from asrbatch.errors import (
    AsrBatchError,
    ConfigError,
    EngineError,
    LockedError,
    OutputError,
    WorkerError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

EXIT_OK, EXIT_SOME_FAILED, EXIT_USAGE, EXIT_ENGINE, EXIT_LOCKED = 0, 1, 2, 3, 75

EXIT_CODES: tuple[tuple[type[AsrBatchError], int], ...] = (
    (ConfigError, EXIT_USAGE),
    (LockedError, EXIT_LOCKED),
    (EngineError, EXIT_ENGINE),
    (WorkerError, EXIT_ENGINE),
    (OutputError, EXIT_ENGINE),
)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors raised on purpose into one clear line and an exit code."""
    try:
        yield
    except AsrBatchError as error:
        code = next(code for kind, code in EXIT_CODES if isinstance(error, kind))
        typer.echo(f"asrbatch: {error}", err=True)
        raise typer.Exit(code) from None


def set_up_logging(*, quiet: bool, verbose: int) -> Console:
    """Log lines to standard error; through rich on a terminal, so that the bar stays whole."""
    from rich.console import Console  # noqa: PLC0415
    from rich.logging import RichHandler  # noqa: PLC0415

    stderr = Console(stderr=True, markup=False, emoji=False, highlight=False)
    handler: logging.Handler
    if stderr.is_terminal:
        handler = RichHandler(console=stderr, show_path=False, show_time=False, markup=False)
        handler.setFormatter(logging.Formatter("%(message)s"))
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if verbose > 1 else logging.WARNING)
    logging.getLogger("asrbatch").setLevel(level)
    if verbose < 2:
        warnings.simplefilter("ignore")  # deprecations inside vLLM and transformers
    return stderr
