"""Checks of values in a graph, the debugger with its watches and reports, and counters of the process."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.session": "CellWarning GraphGrowthWarning GraphMutationWarning",
    "actorsession.config": "DebugOptions DebugTensorWatch",
    "actorsession.metrics": "process_metrics",
    "actorsession.ops.elements.comparison": "is_finite is_inf is_nan",
    "actorsession.ops.flow.assertions": ("Assert Print add_check_numerics_ops check_numerics verify_tensor_all_finite"),
    "actorsession.ops.flow.checks": (
        "assert_equal assert_greater assert_greater_equal assert_integer assert_less "
        "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_rank assert_rank_at_least assert_rank_in "
        "assert_scalar assert_type"
    ),
    "actorsession.ops.reductions.spread": "is_non_decreasing is_strictly_increasing",
    "actorsession.runtime.debug.dump": "DebugDump DebugNodeKey DebugReport",
    "actorsession.runtime.debug.graph": ("DebugGraphDecoratorInterface DebugGraphDecoratorRegistry"),
    "actorsession.runtime.debug.sinks": "register_debug_sink unregister_debug_sink",
    "actorsession.runtime.debug.state": "DebuggerState DebuggerStateRegistry",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
