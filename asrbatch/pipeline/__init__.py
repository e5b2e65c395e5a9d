"""The order of the stages; no other module knows it.

scan -> probe -> plan -> [decode -> cut -> mel] -> engine -> stitch -> ledger
                          worker processes         main thread
"""

from asrbatch.pipeline.config import RunConfig
from asrbatch.pipeline.pool import open_pool
from asrbatch.pipeline.prepare import Prepared, prepare, scan_inputs
from asrbatch.pipeline.run import Run
from asrbatch.pipeline.stats import RunStats

__all__ = [
    "Prepared",
    "Run",
    "RunConfig",
    "RunStats",
    "open_pool",
    "prepare",
    "scan_inputs",
]
