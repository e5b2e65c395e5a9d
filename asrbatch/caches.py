"""Care for what runs keep for each other: transcripts, and features."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.errors import ConfigError
from asrbatch.feature_store import FeatureStore
from asrbatch.pipeline import Run
from asrbatch.result_cache import ResultCache, cache_path

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.pipeline import RunConfig, RunStats


def warm_features(config: RunConfig) -> RunStats:
    """Keep the features of recordings.

    Args:
        config: What to decode, for which model, and the feature cache.

    Returns:
        What was done; `done_samples` are those whose features are there.

    Raises:
        ConfigError: No feature cache is named, or there is nothing to decode.
    """
    if config.feature_cache is None:
        msg = "feature cache: none is named; give --feature-cache FOLDER"
        raise ConfigError(msg)
    null = EngineConfig("null")
    engine = load_engine(resolve_model(null), null)
    run = Run(replace(config, out=None, cache=False, feature_memory_gb=0.0), engine)
    for _ in run:
        pass
    return run.stats


def cache_infos(feature_cache: Path | None) -> dict[str, dict[str, Any]]:
    """Place, entries and bytes of each cache; features only where a folder is named."""
    infos: dict[str, dict[str, Any]] = {"results": _results_info()}
    if feature_cache is not None:
        folder, entries, num_bytes = FeatureStore(_existing(feature_cache), 0, 0).info()
        infos["features"] = {"path": str(folder), "entries": entries, "num_bytes": num_bytes}
    return infos


def prune_caches(
    feature_cache: Path | None, feature_cache_gb: float, keep_results: int | None
) -> dict[str, int]:
    """Delete what was not used for longest; how many of each cache.

    Raises:
        ConfigError: Nothing is named to be shortened, or a bound is below 0.
    """
    if feature_cache is None and keep_results is None:
        msg = "prune: nothing is named; give --keep-results NUMBER or --feature-cache FOLDER"
        raise ConfigError(msg)
    if not 0 <= feature_cache_gb < math.inf or (keep_results or 0) < 0:
        msg = "prune: a bound is no number of 0 or more; 0 deletes everything"
        raise ConfigError(msg)
    deleted = {}
    if keep_results is not None:
        deleted["results"] = _prune_results(keep_results)
    if feature_cache is not None:
        store = FeatureStore(_existing(feature_cache), 0, 0)
        deleted["features"] = store.prune(round(feature_cache_gb * 10**9))
    return deleted


def _results_info() -> dict[str, Any]:
    path = cache_path()
    if not path.exists():
        return {"path": str(path), "entries": 0, "num_bytes": 0}
    cache = ResultCache(path)
    found = cache.info()
    cache.close()
    return {"path": str(path), "entries": found.entries, "num_bytes": found.num_bytes}


def _prune_results(keep: int) -> int:
    if not cache_path().exists():
        return 0
    cache = ResultCache(cache_path())
    deleted = cache.prune(keep)
    cache.close()
    return deleted


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        msg = f"feature cache: there is no folder {folder}"
        raise ConfigError(msg)
    return folder
