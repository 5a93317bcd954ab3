"""``tf.RunOptions`` and ``tf.RunMetadata`` with the behaviour of protobuf messages.

They are subclasses of ``actorsession``'s classes, so every session accepts them. Options may be changed until
they are used, and statistics that no run has filled in read as empty ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from actorsession import config, interop
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.settings import field_names, unknown_field
from actorsession.config import StepStats

__all__ = ["RunMetadata", "RunOptions"]

_log = get_logger()


class _RunExperimental(config.RunExperimental):
    """``actorsession.RunOptions.Experimental`` with fields that can be set."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        for name in values:
            _check_option(config.RunExperimental, name, ValueError)
        super().__init__(**values)

    def __setattr__(self, name: str, value: Any) -> None:
        _set_option(self, config.RunExperimental, name, value)


class RunOptions(config.RunOptions):
    """``actorsession.RunOptions`` with fields that can be set.

    Args:
        report_tensor_allocations_upon_oom: accepted without effect, because Python manages memory here.
        values: the fields.

    Raises:
        ValueError: for an argument that is no field.
    """

    __slots__ = ()

    Experimental = _RunExperimental

    def __init__(self, *, report_tensor_allocations_upon_oom: bool = False, **values: Any) -> None:
        for name in values:
            _check_option(config.RunOptions, name, ValueError)
        values.setdefault("experimental", _RunExperimental())
        super().__init__(**values)
        if report_tensor_allocations_upon_oom:
            _log.info(
                "report_tensor_allocations_upon_oom has no effect here, because Python "
                "allocates the memory"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        _set_option(self, config.RunOptions, name, value)

    def frozen(self) -> config.RunOptions:
        """Return ``actorsession.RunOptions`` with the same contents."""
        experimental = _values_of(self.experimental, config.RunExperimental)
        values = _values_of(self, config.RunOptions)
        return config.RunOptions(
            **{**values, "experimental": config.RunExperimental(**experimental)}
        )


def _values_of(options: object, made_of: type[Any]) -> dict[str, Any]:
    """Return the fields of options by name."""
    return {name: getattr(options, name) for name in field_names(made_of)}


def _set_option(options: object, made_of: type[Any], name: str, value: Any) -> None:
    """Set a field of options, if the class allows the value."""
    _check_option(made_of, name, AttributeError)
    changed = replace(made_of(), **{name: value})
    object.__setattr__(options, name, getattr(changed, name))


def _check_option(made_of: type[Any], name: str, error: type[Exception]) -> None:
    """Raise an error for a field that options of runs do not have."""
    known = field_names(made_of)
    if name not in known:
        raise error(unknown_field(made_of.__name__, name, known))


class RunMetadata(config.RunMetadata):
    """``actorsession.RunMetadata`` whose unset fields can be read."""

    __slots__ = ()

    @property
    def step_stats(self) -> StepStats:
        """The execution times of nodes; empty if no run was traced."""
        found = _step_stats.__get__(self)
        return StepStats() if found is None else found

    @step_stats.setter
    def step_stats(self, value: StepStats | None) -> None:
        _step_stats.__set__(self, value)

    @property
    def partition_graphs(self) -> list[Any]:
        """The graphs of the partitions, as TensorFlow's messages."""
        return [interop.graph_def_of(graph) for graph in _partition_graphs.__get__(self)]

    @partition_graphs.setter
    def partition_graphs(self, value: list[Any]) -> None:
        _partition_graphs.__set__(self, value)

    def HasField(self, name: str) -> bool:
        """Return whether the last run filled in a field.

        Raises:
            ValueError: for a field that does not exist.
        """
        if name == "step_stats":
            return _step_stats.__get__(self) is not None
        if name == "cost_graph":
            return bool(self.cost_graph.node)
        if name == "session_metadata":
            return self.session_metadata is not None
        raise ValueError(
            f'Protocol message RunMetadata has no non-repeated field "{name}"; it has step_stats, '
            "cost_graph, session_metadata"
        )


# The slot descriptors of the base class, which the properties above override.
_step_stats: Any = config.RunMetadata.__dict__["step_stats"]
_partition_graphs: Any = config.RunMetadata.__dict__["partition_graphs"]
