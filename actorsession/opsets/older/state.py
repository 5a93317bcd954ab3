"""Older forms of queues, readers, tables and accumulators, whose handles were references to strings.

A reference is a handle here (``graph.op_signatures``), so that they differ in name alone.
"""

from __future__ import annotations

from actorsession.opsets.older.forms import older_form

__all__: list[str] = []

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
for _name in ("ApplyGradient", "NumAccumulated", "SetGlobalStep", "TakeGradient"):
    # The handle is a reference in the type that programs use, and a resource in this one.
    older_form(f"ResourceAccumulator{_name}", f"Accumulator{_name}")
older_form("ConditionalAccumulator", "ResourceConditionalAccumulator")
