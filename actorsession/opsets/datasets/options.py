"""Settings of datasets, with the names and types of TensorFlow's; none changes what a dataset gives."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = ["AUTOTUNE", "AutotuneOptions", "DistributeOptions", "OptimizationOptions", "Options", "ThreadingOptions"]

AUTOTUNE = -1
"""A size or degree of parallelism that is left to the library."""


class AutoShardPolicy(enum.IntEnum):
    """What is shared out among workers."""

    OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


class AutotuneAlgorithm(enum.Enum):
    """How sizes that are left to the library are chosen."""

    DEFAULT, HILL_CLIMB, GRADIENT_DESCENT, MAX_PARALLELISM, STAGE_BASED = 0, 1, 2, 3, 4


class ExternalStatePolicy(enum.Enum):
    """What becomes of state outside of a pipeline when its position is saved."""

    WARN, IGNORE, FAIL = 0, 1, 2


class _Settings:
    """The base class: settings with a type each; those of a class of settings spring into being."""

    _types: ClassVar[Mapping[str, Any]] = {}
    # Older names of settings.
    _other_names: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        self.__dict__["_values"] = {}

    def __getattr__(self, name: str) -> Any:
        key = self._other_names.get(name, name)
        if key.startswith("_") or key not in self._types:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        values, kind = self.__dict__["_values"], self._types[key]
        if key not in values and isinstance(kind, type) and issubclass(kind, _Settings):
            values[key] = kind()
        return values.get(key)

    def __setattr__(self, name: str, value: Any) -> None:
        key = self._other_names.get(name, name)
        if key not in self._types:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind = self._types[key]
        if kind is not None and value is not None and not isinstance(value, kind):
            raise TypeError(f'Property "{key}" must be of type {kind}, got: {value!r} (type: {type(value)})')
        self.__dict__["_values"][key] = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._set() == other._set()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def _set(self) -> dict[str, Any]:
        """Return the settings that were made."""
        settings: dict[str, Any] = {}
        for key, value in self.__dict__["_values"].items():
            setting = value._set() if isinstance(value, _Settings) else value
            if setting not in (None, {}):
                settings[key] = setting
        return settings

    def merge(self, options: Any) -> Any:
        """Return settings that are made in either, those of the argument where both are."""
        merged = type(self)()
        for settings in (self, options):
            for key, value in settings.__dict__["_values"].items():
                before = merged.__dict__["_values"].get(key)
                if isinstance(value, _Settings):
                    value = (type(value)() if before is None else before).merge(value)
                if value is not None:
                    merged.__dict__["_values"][key] = value
        return merged


class AutotuneOptions(_Settings):
    """How sizes and degrees of parallelism are chosen that are left to the library."""

    _types: ClassVar[Mapping[str, Any]] = {
        "autotune_algorithm": None,
        "cpu_budget": int,
        "enabled": bool,
        "initial_parallelism": int,
        "min_parallelism": int,
        "ram_budget": int,
    }


class DistributeOptions(_Settings):
    """How datasets are spread over workers."""

    _types: ClassVar[Mapping[str, Any]] = {
        "auto_shard": bool,
        "auto_shard_policy": AutoShardPolicy,
        "num_devices": int,
        "_make_stateless": bool,
    }


class MapVectorizationOptions(_Settings):
    """How TensorFlow 1.15 joins the calls of functions to one."""

    _types: ClassVar[Mapping[str, Any]] = {"enabled": bool, "use_choose_fastest": bool}


class OptimizationOptions(_Settings):
    """Which rewritings of pipelines TensorFlow tries."""

    _types: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(
            (
                "apply_default_optimizations", "autotune", "autotune_buffers", "filter_fusion",
                "filter_parallelization", "filter_with_random_uniform_fusion", "hoist_random_uniform",
                "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion",
                "map_parallelization", "noop_elimination", "parallel_batch", "seq_interleave_prefetch",
                "shuffle_and_repeat_fusion",
            ),
            bool,
        ),
        "autotune_algorithm": None, "autotune_cpu_budget": int, "map_vectorization": MapVectorizationOptions,
    }  # fmt: skip


class StatsOptions(_Settings):
    """What TensorFlow 1.15 counts of a pipeline."""

    _types: ClassVar[Mapping[str, Any]] = {
        "aggregator": None,
        "counter_prefix": str,
        "latency_all_edges": bool,
        "prefix": str,
    }


class ThreadingOptions(_Settings):
    """The threads of a pipeline."""

    _types: ClassVar[Mapping[str, Any]] = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class Options(_Settings):
    """Settings of a dataset that a program may state: none changes its elements.

    Raises:
        AttributeError: for a name that no setting has.
        TypeError: for a value of another type.
    """

    _types: ClassVar[Mapping[str, Any]] = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": None,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": None,
        "experimental_slack": bool,
        "experimental_stateful_whitelist": None,
        "experimental_stats": StatsOptions,
        "experimental_symbolic_checkpoint": bool,
        "experimental_warm_start": bool,
        "framework_type": None,
        "threading": ThreadingOptions,
    }
    _other_names: ClassVar[Mapping[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }
