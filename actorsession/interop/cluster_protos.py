"""Clusters and servers as TensorFlow's messages.

The session settings of a server are no field of ``ServerDef`` here; servers take them as a separate argument.
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
    """A task of a cluster: its job, index, protocol and port."""

    SCHEMA = """
        1 cluster ClusterDef
        2 job_name string
        3 task_index int32
        5 protocol string
        6 port int32
    """
