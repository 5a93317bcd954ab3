# Written by scripts/generated.py.
"""``tf.summary``: summaries of a step, and the event files that boards such as TensorBoard read."""

from actorsession.compat.v1.summary.functions import (
all_v2_summary_ops as all_v2_summary_ops, get_summary_description as get_summary_description,
initialize as initialize
)
from actorsession.compat.v1.summary.writers import (
FileWriter as FileWriter, FileWriterCache as FileWriterCache
)
from actorsession.interop.event_protos import (
Event as Event, SessionLog as SessionLog, Summary as Summary, SummaryDescription as
SummaryDescription, TaggedRunMetadata as TaggedRunMetadata
)
from actorsession.opsets.summaries.functions import (
audio as audio, histogram as histogram, image as image, merge as merge, merge_all as merge_all,
scalar as scalar, tensor_summary as tensor_summary, text as text
)


__all__ = [
"Event", "FileWriter", "FileWriterCache", "SessionLog", "Summary", "SummaryDescription",
"TaggedRunMetadata", "all_v2_summary_ops", "audio", "get_summary_description", "histogram", "image",
"initialize", "merge", "merge_all", "scalar", "tensor_summary", "text"
]
