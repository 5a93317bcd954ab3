"""Clusters and servers as TensorFlow's messages.

The settings of a server's sessions are no field of ``ServerDef`` here; servers take them beside it.
"""

from __future__ import annotations

from actorsession.interop.message import Message

__all__ = ["ClusterDef", "JobDef", "ServerDef"]


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


class ServerDef(Message):
    """A task of a cluster: which one, and what it speaks."""

    SCHEMA = """
        1 cluster ClusterDef
        2 job_name string
        3 task_index int32
        5 protocol string
        6 port int32
    """
