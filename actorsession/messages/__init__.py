"""The wire vocabulary: messages, their envelopes, one registry and one codec.

The packages above import their messages from here; this package imports only errors, ``records`` and the
value codec. Importing it registers the whole vocabulary. Messages are frozen values: a peer in the same
process receives the object itself.
"""

from __future__ import annotations

from actorsession.messages.checks import Tensor
from actorsession.messages.codec import UnreadableMessage, decode, encode, lost_message
from actorsession.messages.done import Done
from actorsession.messages.envelope import Beat, Call, Cancel, Envelope, Failure, Goodbye, Reply, Tell
from actorsession.messages.registry import VOCABULARY, Registry, Spec, message
from actorsession.messages.server import SERVER, ClusterView, GetCluster, StopServer
from actorsession.messages.session import (
    MASTER,
    CloseSession,
    CreateSession,
    DeviceList,
    ExplainStep,
    ExtendSession,
    ListDevices,
    PartialRunDrop,
    PrepareStep,
    ResetContainers,
    SessionCreated,
    SessionExtended,
    StepExplained,
)
from actorsession.messages.worker import (
    WORKER,
    CleanupAll,
    CleanupGraph,
    CreateWorkerSession,
    DeleteWorkerSession,
    DeregisterGraph,
    GetStatus,
    GraphRegistered,
    RegisterGraph,
    WorkerStatus,
)

__all__ = [
    "MASTER", "SERVER", "VOCABULARY", "WORKER", "Beat", "Call", "Cancel", "CleanupAll",
    "CleanupGraph", "CloseSession", "ClusterView", "CreateSession", "CreateWorkerSession",
    "DeleteWorkerSession", "DeregisterGraph", "DeviceList", "Done", "Envelope", "ExplainStep",
    "ExtendSession",
    "Failure", "GetCluster", "GetStatus", "Goodbye", "GraphRegistered", "ListDevices",
    "PartialRunDrop", "PrepareStep",
    "RegisterGraph", "Registry", "Reply", "ResetContainers",
    "SessionCreated", "SessionExtended", "Spec", "StepExplained", "StopServer", "Tell", "Tensor",
    "UnreadableMessage", "WorkerStatus", "decode", "encode", "lost_message", "message",
]  # fmt: skip
