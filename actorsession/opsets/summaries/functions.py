"""The functions that add summaries to a graph; each makes a string scalar for an event file.

A summary is a node whose value is a serialised ``Summary`` message; ``merge_all`` finds those of a graph by
their collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from actorsession.graph.dtypes import string
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.graph_keys import GraphKeys
from actorsession.opsets.summaries.tags import clean_tag
from actorsession.protobuf.wire import length_field

__all__ = ["audio", "histogram", "image", "merge", "merge_all", "scalar", "summary_scope", "tensor_summary", "text"]


@contextmanager
def summary_scope(name: str, family: str | None, default: str = "Summary") -> Iterator[tuple[str, str]]:
    """Enter the scope of a summary; yields its tag and the name of its node.

    Args:
        name: name of the summary.
        family: prefix of the tag.
        default: name of the scope for an empty name.
    """
    own, group = clean_tag(name), clean_tag(family)
    base = own if group is None else f"{group}/{own}"
    with get_default_graph().name_scope(base or default) as scope:
        tag = scope.rstrip("/")
        yield (tag if group is None else f"{group}/{tag}"), scope


def _collected(summary: Tensor, collections: Sequence[str] | None, *default: str) -> Tensor:
    keys = default if collections is None else collections
    summary.graph.add_to_collections(list(keys), summary)
    return summary


def scalar(name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """Return a summary of one number.

    Args:
        name: name of the node, and with its scopes the tag.
        tensor: a real scalar.
        collections: keys of the collections that the summary is added to; ``summaries`` if omitted.
        family: prefix of the tag, under which a board shows summaries together.

    Raises:
        TypeError: for anything but real numbers.
    """
    with summary_scope(name, family) as (tag, scope):
        summary = raw.ScalarSummary(tag, tensor, name=scope)
    return _collected(summary, collections, GraphKeys.SUMMARIES)


def histogram(name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """Return a summary of the distribution of real numbers.

    Args:
        name: as for ``scalar``, like the following arguments.
        values: the numbers, of any shape; values that are not finite are an InvalidArgumentError.
        collections: keys of collections.
        family: prefix of the tag.
    """
    with summary_scope(name, family, "HistogramSummary") as (tag, scope):
        summary = raw.HistogramSummary(tag, values, name=scope)
    return _collected(summary, collections, GraphKeys.SUMMARIES)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Return a summary of the images of a batch.

    Args:
        name: as for ``scalar``; tags end in ``/image``, with a number if ``max_outputs`` is above 1.
        tensor: pixels ``[batch, height, width, channels]`` with 1, 3 or 4 channels: uint8, or floats, which
            are scaled to the range of each image.
        max_outputs: how many images of the batch are kept.
        collections: keys of collections.
        family: prefix of the tag.
    """
    with summary_scope(name, family) as (tag, scope):
        summary = raw.ImageSummary(tag, tensor, max_images=max_outputs, name=scope)
    return _collected(summary, collections, GraphKeys.SUMMARIES)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a summary of the sounds of a batch.

    Args:
        name: as for ``scalar``; tags end in ``/audio``, with a number if ``max_outputs`` is above 1.
        tensor: samples from -1 to 1, ``[batch, frames, channels]`` or ``[batch, frames]``.
        sample_rate: frames per second.
        max_outputs: how many sounds of the batch are kept.
        collections: keys of collections.
        family: prefix of the tag.
    """
    with summary_scope(name, family) as (tag, scope):
        summary = raw.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs, name=scope)
    return _collected(summary, collections, GraphKeys.SUMMARIES)


def text(name: str, tensor: Any, collections: Sequence[str] | None = None) -> Tensor:
    """Return a summary of strings, which a board shows as Markdown.

    Args:
        name: as for ``scalar``.
        tensor: strings of any shape.
        collections: keys of collections.

    Raises:
        ValueError: for a tensor of another type.
    """
    if tensor.dtype is not string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    plugin = length_field(1, length_field(1, b"text"))
    return _tensor(name, tensor, plugin, collections, None)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: Any = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: Any = None,
) -> Tensor:
    """Return a summary of a tensor as it is.

    Args:
        name: as for ``scalar``.
        tensor: any tensor.
        summary_description: a longer text about it, in Markdown.
        collections: keys of collections.
        summary_metadata: a ``SummaryMetadata`` message, which names the plugin that shows the summary.
        family: prefix of the tag.
        display_name: the name that a board shows.
    """
    metadata = b"" if summary_metadata is None else summary_metadata.SerializeToString()
    for number, said in ((2, display_name), (3, summary_description)):
        if said is not None:
            # A later value of a field replaces the earlier one.
            content = said if isinstance(said, bytes) else str(said).encode()
            metadata += length_field(number, content)
    return _tensor(name, tensor, metadata, collections, family)


def _tensor(name: str, tensor: Any, metadata: bytes, collections: Sequence[str] | None, family: str | None) -> Tensor:
    with summary_scope(name, family) as (tag, scope):
        value = convert_to_tensor(tensor, name="tensor")
        summary = raw.TensorSummaryV2(tag, value, metadata, name=scope)
    return _collected(summary, collections, GraphKeys.SUMMARIES)


def merge(inputs: Any, collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """Return a summary with the values of several.

    Args:
        inputs: the summaries; two values with one tag are an InvalidArgumentError when it runs.
        collections: keys of the collections that the merged summary is added to; none if omitted.
        name: name of the scope.

    Raises:
        ValueError: without inputs.
    """
    own = clean_tag(name)
    with get_default_graph().name_scope(own or "Merge"):
        summary = raw.MergeSummary(list(inputs), name=own or "MergeSummary")
    return _collected(summary, collections)


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Return a summary with the values of all in a collection; ``None`` if it is empty.

    Args:
        key: key of the collection.
        scope: only summaries whose names begin with it, a regular expression.
        name: name of the scope.
    """
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None
