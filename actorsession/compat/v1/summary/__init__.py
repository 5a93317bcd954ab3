"""``tf.summary``: summaries of a step, and the event files that boards such as TensorBoard read."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".functions": "all_v2_summary_ops get_summary_description initialize",
    ".writers": "FileWriter FileWriterCache",
    "actorsession.interop.event_protos": ("Event SessionLog Summary SummaryDescription TaggedRunMetadata"),
    "actorsession.opsets.summaries.functions": ("audio histogram image merge merge_all scalar tensor_summary text"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
