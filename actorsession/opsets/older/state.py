"""Older forms of queues, readers, tables and accumulators, whose handles were references to strings.

A reference is a handle here (``graph.op_signatures``), so that they differ in name alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import DType, string
from actorsession.opsets.older.forms import Attrs, older_form

__all__: list[str] = []

_NOBODYS = -(2**31) + 1


def _deleted_key(attrs: Attrs, dtypes: Sequence[DType]) -> Any:
    """Return a key that no table of the first version takes out, since it has no operation for that."""
    return b"\xff deleted" if dtypes[0] is string else dtypes[0].np_dtype.type(_NOBODYS)


for _name in (
    *("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue", "QueueClose"),
    *("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueEnqueue", "QueueEnqueueMany"),
    *("QueueIsClosed", "QueueSize"),
    *("FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader"),
    *("WholeFileReader", "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted", "ReaderRead"),
    *("ReaderReadUpTo", "ReaderReset", "ReaderRestoreState", "ReaderSerializeState"),
    *("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "InitializeTable"),
    *("InitializeTableFromTextFile", "LookupTableExport", "LookupTableFind", "LookupTableImport"),
    *("LookupTableInsert", "LookupTableSize"),
):
    older_form(_name, f"{_name}V2")
older_form("MutableDenseHashTable", "MutableDenseHashTableV2", (0, _deleted_key))
for _name in ("ApplyGradient", "NumAccumulated", "SetGlobalStep", "TakeGradient"):
    # The handle is a reference in the type that programs use, and a resource in this one.
    older_form(f"ResourceAccumulator{_name}", f"Accumulator{_name}")
older_form("ConditionalAccumulator", "ResourceConditionalAccumulator")
