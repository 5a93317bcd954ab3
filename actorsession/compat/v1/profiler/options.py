"""``ProfileOptionBuilder``: what a profile counts, which nodes it shows, and where it is written."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["TRAINABLE_VARIABLES", "ProfileOptionBuilder"]

TRAINABLE_VARIABLES = "_trainable_variables"
"""The type that trainable variables have in a profile beside that of their operation."""

_EVERY: dict[str, Any] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": True,
    "select": [],
    "step": -1,
    "output": "stdout",
}


def _options(**told: Any) -> dict[str, Any]:
    return {**copy.deepcopy(_EVERY), **told}


class ProfileOptionBuilder:
    """Makes a dictionary of options; each ``with_`` method changes it and returns the builder.

    Args:
        options: the options to begin with.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        first = _options(max_depth=100, account_displayed_op_only=False, select=["micros"])
        self._options: dict[str, Any] = copy.deepcopy(dict(first if options is None else options))

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return the options for counting the parameters of trainable variables."""
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return the options for counting float operations."""
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Return the options for time and memory of nodes that need at least so much."""
        return _options(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> dict[str, Any]:
        """Return the options."""
        return copy.deepcopy(self._options)

    def _with(self, **told: Any) -> ProfileOptionBuilder:
        self._options.update(copy.deepcopy(told))
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Show at most so many levels, or so many rows of a list."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0
    ) -> ProfileOptionBuilder:
        """Show only nodes that need at least so many bytes: in all, at once, afterwards, for outputs."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Show only nodes that run at least so many microseconds."""
        return self._with(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Show only nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Show only nodes that ran, or types that are there, at least so often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Show only nodes with at least so many float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Count only nodes of types, or on devices, that match one of some expressions."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Say by expressions from which nodes on, which, which not, and down to which nodes are shown."""
        expressions = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{name: list(each) for name, each in expressions.items() if each is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Say whether nodes that are not shown count in sums."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Write the profile nowhere."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Print the profile."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the profile to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Write a trace for Chrome to a file."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Ask for a file for ``pprof``, which is not written here."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Order rows by a quantity, such as ``params``, or by ``name``."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Say which quantities are shown."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Take the numbers of one step; -1 for the average of all."""
        return self._with(step=step)
