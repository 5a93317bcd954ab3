# Written by scripts/generated.py.
"""Queues, and the other state that holds values between steps: barriers, accumulators, staging areas."""

from actorsession.ops.queues.base import QueueBase as QueueBase
from actorsession.ops.queues.queues import FIFOQueue as FIFOQueue
from actorsession.ops.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from actorsession.ops.queues.queues import PriorityQueue as PriorityQueue
from actorsession.ops.queues.queues import RandomShuffleQueue as RandomShuffleQueue
from actorsession.opsets.accumulators.accumulators import ConditionalAccumulator as ConditionalAccumulator
from actorsession.opsets.accumulators.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from actorsession.opsets.accumulators.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorsession.opsets.staging.areas import MapStagingArea as MapStagingArea
from actorsession.opsets.staging.areas import StagingArea as StagingArea
from actorsession.opsets.staging.barriers import Barrier as Barrier
from actorsession.opsets.staging.mutexes import CriticalSection as CriticalSection

__all__ = [
"Barrier", "ConditionalAccumulator", "ConditionalAccumulatorBase", "CriticalSection", "FIFOQueue",
"MapStagingArea", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
"SparseConditionalAccumulator", "StagingArea"
]
