# Written by scripts/generated.py.
"""Queues, and the other state that holds values between steps: barriers, accumulators, staging areas."""

from actorsession.ops.queues.base import QueueBase as QueueBase
from actorsession.ops.queues.queues import (
FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
RandomShuffleQueue as RandomShuffleQueue
)
from actorsession.opsets.accumulators.accumulators import (
ConditionalAccumulator as ConditionalAccumulator, ConditionalAccumulatorBase as
ConditionalAccumulatorBase, SparseConditionalAccumulator as SparseConditionalAccumulator
)
from actorsession.opsets.staging.areas import (
MapStagingArea as MapStagingArea, StagingArea as StagingArea
)
from actorsession.opsets.staging.barriers import Barrier as Barrier
from actorsession.opsets.staging.mutexes import CriticalSection as CriticalSection


__all__ = [
"Barrier", "ConditionalAccumulator", "ConditionalAccumulatorBase", "CriticalSection", "FIFOQueue",
"MapStagingArea", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
"SparseConditionalAccumulator", "StagingArea"
]
