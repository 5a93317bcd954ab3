# Written by scripts/generated.py.
"""``tf.summary``: summaries of a step, and the event files that boards such as TensorBoard read."""

from actorsession.compat.v1.summary.functions import all_v2_summary_ops as all_v2_summary_ops
from actorsession.compat.v1.summary.functions import get_summary_description as get_summary_description
from actorsession.compat.v1.summary.functions import initialize as initialize
from actorsession.compat.v1.summary.writers import FileWriter as FileWriter
from actorsession.compat.v1.summary.writers import FileWriterCache as FileWriterCache
from actorsession.interop.event_protos import Event as Event
from actorsession.interop.event_protos import SessionLog as SessionLog
from actorsession.interop.event_protos import Summary as Summary
from actorsession.interop.event_protos import SummaryDescription as SummaryDescription
from actorsession.interop.event_protos import TaggedRunMetadata as TaggedRunMetadata
from actorsession.opsets.summaries.functions import audio as audio
from actorsession.opsets.summaries.functions import histogram as histogram
from actorsession.opsets.summaries.functions import image as image
from actorsession.opsets.summaries.functions import merge as merge
from actorsession.opsets.summaries.functions import merge_all as merge_all
from actorsession.opsets.summaries.functions import scalar as scalar
from actorsession.opsets.summaries.functions import tensor_summary as tensor_summary
from actorsession.opsets.summaries.functions import text as text

__all__ = [
"Event", "FileWriter", "FileWriterCache", "SessionLog", "Summary", "SummaryDescription",
"TaggedRunMetadata", "all_v2_summary_ops", "audio", "get_summary_description", "histogram", "image",
"initialize", "merge", "merge_all", "scalar", "tensor_summary", "text"
]
