# Written by scripts/generated.py.
"""What an extension imports: operations, graph passes, device types, transports and kinds of session.

These names stay, with what their docstrings say of them; a change of one is in the changelog. All other
modules may change at any time, but those of ``actorsession`` itself and its namespaces (``acts.nn``,
``acts.plugins``, ...), which are for programs. docs/extending.md has a recipe of each kind.

A name is imported when it is first used. ``actorsession`` does not import this module.
"""

from actorsession.config import ConfigProto as ConfigProto
from actorsession.entry_points import PluginWarning as PluginWarning
from actorsession.graph.device import DeviceAttributes as DeviceAttributes
from actorsession.graph.graph import get_default_graph as get_default_graph
from actorsession.graph.node import NodeDef as NodeDef
from actorsession.graph.node import TensorSpec as TensorSpec
from actorsession.graph.operation import Operation as Operation
from actorsession.graph.operation import Tensor as Tensor
from actorsession.graph.registry import Array as Array
from actorsession.graph.registry import Gradient as Gradient
from actorsession.graph.registry import InferContext as InferContext
from actorsession.graph.registry import Kernel as Kernel
from actorsession.graph.registry import KernelContext as KernelContext
from actorsession.graph.registry import NOT_DIFFERENTIABLE as NOT_DIFFERENTIABLE
from actorsession.graph.registry import OpDef as OpDef
from actorsession.graph.registry import REQUIRED as REQUIRED
from actorsession.graph.registry import ResourceHost as ResourceHost
from actorsession.graph.registry import VariableHolder as VariableHolder
from actorsession.graph.registry import register as register_op
from actorsession.graph.registry import registered_ops as registered_ops
from actorsession.graph.shape import TensorShape as TensorShape
from actorsession.ops.apply import many as many
from actorsession.ops.apply import node as node
from actorsession.ops.apply import one as one
from actorsession.ops.build import convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.registry import NotDifferentiable as NotDifferentiable
from actorsession.ops.derivatives.registry import RegisterGradient as RegisterGradient
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.rows import Shapes as Shapes
from actorsession.ops.rows import broadcast as broadcast
from actorsession.ops.rows import broadcasts as broadcasts
from actorsession.ops.rows import by_rank as by_rank
from actorsession.ops.rows import check_inputs as check_inputs
from actorsession.ops.rows import checked as checked
from actorsession.ops.rows import first as first
from actorsession.ops.rows import merged_shape as merged_shape
from actorsession.ops.rows import no_outputs as no_outputs
from actorsession.ops.rows import op as op
from actorsession.ops.rows import same as same
from actorsession.ops.rows import scalar as scalar
from actorsession.plan.device_set import DeviceSet as DeviceSet
from actorsession.plan.partition import Partition as Partition
from actorsession.plan.passes.optimise import OptimiserSettings as OptimiserSettings
from actorsession.plan.passes.registry import GraphPass as GraphPass
from actorsession.plan.passes.registry import PassContext as PassContext
from actorsession.plan.passes.registry import PassGroup as PassGroup
from actorsession.plan.passes.registry import PassStatistics as PassStatistics
from actorsession.plan.passes.registry import PlacedGraph as PlacedGraph
from actorsession.plan.passes.registry import register_pass as register_graph_pass
from actorsession.plan.passes.registry import registered_passes as registered_graph_passes
from actorsession.plan.passes.registry import unregister_pass as unregister_graph_pass
from actorsession.plan.prune import StepGraph as StepGraph
from actorsession.runtime.devices import CPU_PRIORITY as CPU_PRIORITY
from actorsession.runtime.devices import Device as Device
from actorsession.runtime.devices import DeviceFactory as DeviceFactory
from actorsession.runtime.devices import new_incarnation as new_incarnation
from actorsession.runtime.devices import register_device_factory as register_device_factory
from actorsession.runtime.devices import registered_device_types as registered_device_types
from actorsession.runtime.virtual_devices import VirtualDevices as VirtualDevices
from actorsession.session import SessionFactory as SessionFactory
from actorsession.session import SessionOptions as SessionOptions
from actorsession.session import register_factory as register_session_factory
from actorsession.session.session_interface import OnEvict as OnEvict
from actorsession.session.session_interface import SessionInterface as SessionInterface
from transports import Address as Address
from transports import AuthenticationError as AuthenticationError
from transports import BindError as BindError
from transports import ConnectError as ConnectError
from transports import Connection as Connection
from transports import ConnectionClosed as ConnectionClosed
from transports import Frame as Frame
from transports import Hello as Hello
from transports import Listener as Listener
from transports import ProtocolError as ProtocolError
from transports import SecurityConfig as SecurityConfig
from transports import Transport as Transport
from transports import TransportError as TransportError
from transports import WrongPeer as WrongPeer
from transports import parse_address as parse_address
from transports import register_transport as register_transport
from transports import transport_schemes as transport_schemes
from transports.delivery import Delivery as Delivery
from transports.inproc import InprocTransport as InprocTransport
from transports.listener import OnConnection as OnConnection
from transports.stream.abstract import AbstractTransport as AbstractTransport
from transports.stream.connection import STREAM_LIMIT as STREAM_LIMIT
from transports.stream.tls_transport import TlsTransport as TlsTransport
from transports.stream.transport import StreamTransport as StreamTransport
from transports.stream.transport import Streams as Streams
from transports.stream.transport import TcpTransport as TcpTransport
from transports.stream.transport import UnixTransport as UnixTransport

__all__ = [
"AbstractTransport", "Address", "Array", "AuthenticationError", "BindError", "CPU_PRIORITY",
"ConfigProto", "ConnectError", "Connection", "ConnectionClosed", "Delivery", "Device",
"DeviceAttributes", "DeviceFactory", "DeviceSet", "Frame", "Gradient", "GraphPass", "Hello",
"IndexedSlices", "InferContext", "InprocTransport", "Kernel", "KernelContext", "Listener",
"NOT_DIFFERENTIABLE", "NodeDef", "NotDifferentiable", "OnConnection", "OnEvict", "OpDef",
"Operation", "OptimiserSettings", "Partition", "PassContext", "PassGroup", "PassStatistics",
"PlacedGraph", "PluginWarning", "ProtocolError", "REQUIRED", "RegisterGradient", "ResourceHost",
"STREAM_LIMIT", "SecurityConfig", "SessionFactory", "SessionInterface", "SessionOptions", "Shapes",
"StepGraph", "StreamTransport", "Streams", "TcpTransport", "Tensor", "TensorShape", "TensorSpec",
"TlsTransport", "Transport", "TransportError", "UnixTransport", "VariableHolder", "VirtualDevices",
"WrongPeer", "broadcast", "broadcasts", "by_rank", "check_inputs", "checked", "convert_to_tensor",
"first", "get_default_graph", "many", "merged_shape", "new_incarnation", "no_outputs", "node",
"one", "op", "parse_address", "register_device_factory", "register_graph_pass", "register_op",
"register_session_factory", "register_transport", "registered_device_types",
"registered_graph_passes", "registered_ops", "same", "scalar", "transport_schemes",
"unregister_graph_pass"
]
