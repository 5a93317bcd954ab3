# Written by scripts/generated.py.
"""Checks of values in a graph, the debugger with its watches and reports, and counters of the process."""

from actorsession.config import DebugOptions as DebugOptions, DebugTensorWatch as DebugTensorWatch
from actorsession.metrics import process_metrics as process_metrics
from actorsession.ops.elements.comparison import (
is_finite as is_finite, is_inf as is_inf, is_nan as is_nan
)
from actorsession.ops.flow.assertions import (
Assert as Assert, Print as Print, add_check_numerics_ops as add_check_numerics_ops, check_numerics
as check_numerics, verify_tensor_all_finite as verify_tensor_all_finite
)
from actorsession.ops.flow.checks import (
assert_equal as assert_equal, assert_greater as assert_greater, assert_greater_equal as
assert_greater_equal, assert_integer as assert_integer, assert_less as assert_less,
assert_less_equal as assert_less_equal, assert_near as assert_near, assert_negative as
assert_negative, assert_non_negative as assert_non_negative, assert_non_positive as
assert_non_positive, assert_none_equal as assert_none_equal, assert_positive as assert_positive,
assert_rank as assert_rank, assert_rank_at_least as assert_rank_at_least, assert_rank_in as
assert_rank_in, assert_scalar as assert_scalar, assert_type as assert_type
)
from actorsession.ops.reductions.spread import (
is_non_decreasing as is_non_decreasing, is_strictly_increasing as is_strictly_increasing
)
from actorsession.runtime.debug.dump import (
DebugDump as DebugDump, DebugNodeKey as DebugNodeKey, DebugReport as DebugReport
)
from actorsession.runtime.debug.graph import (
DebugGraphDecoratorInterface as DebugGraphDecoratorInterface, DebugGraphDecoratorRegistry as
DebugGraphDecoratorRegistry
)
from actorsession.runtime.debug.sinks import (
register_debug_sink as register_debug_sink, unregister_debug_sink as unregister_debug_sink
)
from actorsession.runtime.debug.state import (
DebuggerState as DebuggerState, DebuggerStateRegistry as DebuggerStateRegistry
)
from actorsession.session import (
CellWarning as CellWarning, GraphGrowthWarning as GraphGrowthWarning, GraphMutationWarning as
GraphMutationWarning
)


__all__ = [
"Assert", "CellWarning", "DebugDump", "DebugGraphDecoratorInterface", "DebugGraphDecoratorRegistry",
"DebugNodeKey", "DebugOptions", "DebugReport", "DebugTensorWatch", "DebuggerState",
"DebuggerStateRegistry", "GraphGrowthWarning", "GraphMutationWarning", "Print",
"add_check_numerics_ops", "assert_equal", "assert_greater", "assert_greater_equal",
"assert_integer", "assert_less", "assert_less_equal", "assert_near", "assert_negative",
"assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
"assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type", "check_numerics",
"is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing", "process_metrics",
"register_debug_sink", "unregister_debug_sink", "verify_tensor_all_finite"
]
