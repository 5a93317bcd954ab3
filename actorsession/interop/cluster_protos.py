"""Clusters as TensorFlow's messages."""

from __future__ import annotations

from actorsession.interop.message import Message

__all__ = ["ClusterDef", "JobDef"]


class JobDef(Message):
    """A job: its name, and the addresses of its tasks."""

    SCHEMA = """
        1 name string
        2 tasks map<int32, string>
    """


class ClusterDef(Message):
    """The jobs of a cluster."""

    SCHEMA = """
        1 job JobDef*
    """
