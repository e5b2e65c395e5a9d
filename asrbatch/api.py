"""The Python interface: `asrbatch.transcribe`."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from asrbatch.data import SAMPLE_RATE, Failure
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Unpack

    from asrbatch.data import Transcript
    from asrbatch.options import Options

TICK_S = 0.5
"""How often the bar moves."""


class Transcription:
    """A run; iterate over it once to do the work.

    Leaving the loop early stops the run; what is finished is kept where `out` was given.
    """

    def __init__(self, run: Run, *, progress: bool = False) -> None:
        self._run = run
        self._progress = progress
        self.failures: list[Failure] = []
        """Recordings that could not be transcribed, so far."""

    def __iter__(self) -> Iterator[Transcript]:
        """Give each transcript as soon as it is finished.

        Raises:
            EngineError: The engine cannot start or go on.
            OutputError: The results cannot be written.
        """
        with closing(iter(self._run)) as items, self._bar():
            for item in items:
                if isinstance(item, Failure):
                    self.failures.append(item)
                else:
                    yield item

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the run so far, as in `results.summary.json`."""
        return self._run.stats.summary()

    @contextmanager
    def _bar(self) -> Iterator[None]:
        """Show a bar of audio seconds while inside, if that is wanted."""
        if not self._progress:
            yield
            return
        from tqdm.auto import tqdm  # noqa: PLC0415  (in a notebook it draws a widget)

        stats = self._run.stats
        with tqdm(unit="s", desc="audio", total=0) as bar:

            def show() -> None:
                bar.total = round(stats.planned_samples / SAMPLE_RATE)
                bar.n = round(stats.engine_samples / SAMPLE_RATE)
                bar.set_postfix(files=stats.done, failed=stats.failed)

            with Ticker(TICK_S, show):
                yield
            show()


def transcribe(
    inputs: str | Path | Sequence[str | Path], *, progress: bool = False, **options: Unpack[Options]
) -> Transcription:
    """Transcribe files, folders, globs and manifests.

    Args:
        inputs: One or several of them.
        progress: Show tqdm's own bar.
        **options: As on the command line, with `_` for `-`; see `asrbatch.Options`. With `out`
            the results are written as by the command line, and a second call resumes; without,
            nothing is kept.

    Returns:
        An iterable of transcripts in the order in which they are finished; what failed is in its
        `failures`.

    Raises:
        ConfigError: There is nothing to transcribe, or an option cannot be.
    """
    return Transcription(Run(build_config(inputs, options)), progress=progress)
