"""Settings of sessions and runs, with TensorFlow's names, and the statistics that a run reports.

Settings are frozen values; ``to_wire`` and ``from_wire`` carry them to a master. Python itself refuses a
field that does not exist here. A field without an implementation refuses every value but its neutral one,
so nothing is accepted that has no effect. The package imports only errors and ``records``; sessions,
servers and the runtime read it.
"""

from __future__ import annotations

from actorsession.config.callable import CallableOptions, TensorConnection
from actorsession.config.cost_graph import CostGraphDef, CostGraphInput, CostGraphNode, CostGraphOutput
from actorsession.config.debug import DebugOptions, DebugTensorWatch
from actorsession.config.exec_stats import (
    AllocatorMemoryUsed,
    DeviceStepStats,
    NodeExecStats,
    NodeOutput,
    TensorDescription,
)
from actorsession.config.graph_options import GraphOptions, JitLevel, OptimizerOptions, OptLevel
from actorsession.config.limits import (
    CONNECT_TIMEOUT,
    DEFAULT_STEP_TIMEOUT,
    MAX_INFLIGHT_BYTES,
    MAX_INFLIGHT_STEPS,
    MAX_SERVER_STEPS,
    whose_limit,
)
from actorsession.config.run import RunExperimental, RunOptions, TraceLevel
from actorsession.config.session import (
    ConfigProto,
    Experimental,
    GPUOptions,
    RPCOptions,
    SessionMetadata,
    SessionOptions,
    ThreadPoolOptionProto,
)
from actorsession.config.stats import (
    ClockStats,
    FrameStats,
    NodeStats,
    PhaseStats,
    RunMetadata,
    StepStats,
    TransferStats,
)
from actorsession.config.step_record import ErrorRecord, PartRecord, StepRecord, merge_records, without_fragments

__all__ = [
    "CONNECT_TIMEOUT", "DEFAULT_STEP_TIMEOUT", "MAX_INFLIGHT_BYTES", "MAX_INFLIGHT_STEPS",
    "MAX_SERVER_STEPS", "AllocatorMemoryUsed", "CallableOptions", "ClockStats", "ConfigProto",
    "CostGraphDef",
    "CostGraphInput", "CostGraphNode", "CostGraphOutput", "DebugOptions", "DebugTensorWatch",
    "DeviceStepStats", "ErrorRecord", "Experimental", "FrameStats", "GPUOptions", "GraphOptions", "JitLevel",
    "NodeExecStats",
    "NodeOutput", "NodeStats", "OptLevel", "OptimizerOptions", "PartRecord", "PhaseStats", "RPCOptions",
    "RunExperimental", "RunMetadata", "RunOptions", "SessionMetadata", "SessionOptions", "StepRecord", "StepStats",
    "TensorConnection", "TensorDescription", "ThreadPoolOptionProto", "TraceLevel", "TransferStats",
    "merge_records", "whose_limit", "without_fragments",
]  # fmt: skip
