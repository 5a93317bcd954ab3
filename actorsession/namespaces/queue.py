"""Queues, and the other state that holds values between steps: barriers, accumulators, staging areas."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.queues.base": "QueueBase",
    "actorsession.ops.queues.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
    "actorsession.opsets.accumulators.accumulators": (
        "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator"
    ),
    "actorsession.opsets.staging.areas": "MapStagingArea StagingArea",
    "actorsession.opsets.staging.barriers": "Barrier",
    "actorsession.opsets.staging.mutexes": "CriticalSection",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
