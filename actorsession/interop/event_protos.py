"""Messages of event files: summaries, and the events that hold them."""

from __future__ import annotations

from typing import ClassVar

from actorsession.interop import protos
from actorsession.interop.message import Message

__all__ = [
    "Event",
    "HistogramProto",
    "LogMessage",
    "SessionLog",
    "SourceMetadata",
    "Summary",
    "SummaryDescription",
    "SummaryMetadata",
    "TaggedRunMetadata",
]

_ = protos.TensorProto  # the schemas below name it


class HistogramProto(Message):
    """A distribution: the number of values below each limit and not below the one before."""

    SCHEMA = """
        1 min double
        2 max double
        3 num double
        4 sum double
        5 sum_squares double
        6 bucket_limit double*
        7 bucket double*
    """


class SummaryDescription(Message):
    """A hint about what a summary is."""

    SCHEMA = """
        1 type_hint string
    """


class SummaryMetadata(Message):
    """How a board shows a summary."""

    SCHEMA = """
        1 plugin_data SummaryMetadata.PluginData
        2 display_name string
        3 summary_description string
        4 data_class DataClass
    """

    class PluginData(Message):
        """The plugin that shows a summary, with settings of its own."""

        SCHEMA = """
            1 plugin_name string
            2 content bytes
        """


class Summary(Message):
    """Named values of one step."""

    SCHEMA = """
        1 value Summary.Value*
    """

    class Image(Message):
        """An image file with its sizes."""

        SCHEMA = """
            1 height int32
            2 width int32
            3 colorspace int32
            4 encoded_image_string bytes
        """

    class Audio(Message):
        """A sound file with its sizes."""

        SCHEMA = """
            1 sample_rate float
            2 num_channels int64
            3 length_frames int64
            4 encoded_audio_string bytes
            5 content_type string
        """

    class Value(Message):
        """One named value."""

        SCHEMA = """
            1 tag string
            2 simple_value float in value
            3 obsolete_old_style_histogram bytes in value
            4 image Summary.Image in value
            5 histo HistogramProto in value
            6 audio Summary.Audio in value
            7 node_name string
            8 tensor TensorProto in value
            9 metadata SummaryMetadata
        """


class LogMessage(Message):
    """A line of a log."""

    SCHEMA = """
        1 level LogMessage.Level
        2 message string
    """

    UNKNOWN: ClassVar[int]
    DEBUGGING: ClassVar[int]
    INFO: ClassVar[int]
    WARN: ClassVar[int]
    ERROR: ClassVar[int]
    FATAL: ClassVar[int]


class SessionLog(Message):
    """What happened to a session: that it began, ended, or wrote a checkpoint."""

    SCHEMA = """
        1 status SessionLog.SessionStatus
        2 checkpoint_path string
        3 msg string
    """

    STATUS_UNSPECIFIED: ClassVar[int]
    START: ClassVar[int]
    STOP: ClassVar[int]
    CHECKPOINT: ClassVar[int]


class TaggedRunMetadata(Message):
    """A serialised ``RunMetadata`` under a name."""

    SCHEMA = """
        1 tag string
        2 run_metadata bytes
    """


class SourceMetadata(Message):
    """What wrote a file."""

    SCHEMA = """
        1 writer string
    """


class Event(Message):
    """One record of an event file."""

    SCHEMA = """
        1 wall_time double
        2 step int64
        3 file_version string in what
        4 graph_def bytes in what
        5 summary Summary in what
        6 log_message LogMessage in what
        7 session_log SessionLog in what
        8 tagged_run_metadata TaggedRunMetadata in what
        9 meta_graph_def bytes in what
        10 source_metadata SourceMetadata
    """
