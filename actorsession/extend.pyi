# Written by scripts/generated.py.
"""What an extension imports: operations, graph passes, device types, transports and kinds of session.

These names stay, with what their docstrings say of them; a change of one is in the changelog. All other
modules may change at any time, but those of ``actorsession`` itself and its namespaces (``acts.nn``,
``acts.plugins``, ...), which are for programs. docs/extending.md has a recipe of each kind.

A name is imported when it is first used. ``actorsession`` does not import this module.
"""

from actorsession.config import ConfigProto as ConfigProto
from actorsession.entry_points import PluginWarning as PluginWarning
from actorsession.graph.collective_call import (
Collective as Collective, DeviceGroup as DeviceGroup, DeviceGroups as DeviceGroups
)
from actorsession.graph.completion import Completed as Completed, Completion as Completion
from actorsession.graph.device import DeviceAttributes as DeviceAttributes
from actorsession.graph.device_kernels import (
DeviceArrays as DeviceArrays, DeviceClock as DeviceClock, DeviceKernel as DeviceKernel,
DeviceKernels as DeviceKernels, Lending as Lending, SideBySide as SideBySide
)
from actorsession.graph.graph import get_default_graph as get_default_graph
from actorsession.graph.node import NodeDef as NodeDef, TensorSpec as TensorSpec
from actorsession.graph.operation import Operation as Operation, Tensor as Tensor
from actorsession.graph.registry import (
Array as Array, Gradient as Gradient, InferContext as InferContext, Kernel as Kernel, KernelContext
as KernelContext, NOT_DIFFERENTIABLE as NOT_DIFFERENTIABLE, OpDef as OpDef, REQUIRED as REQUIRED,
ResourceHost as ResourceHost, SumTerm as SumTerm, VariableHolder as VariableHolder, register as
register_op, registered_ops as registered_ops
)
from actorsession.graph.shape import TensorShape as TensorShape
from actorsession.ops.apply import many as many, node as node, one as one
from actorsession.ops.build import convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.registry import (
NotDifferentiable as NotDifferentiable, RegisterGradient as RegisterGradient
)
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.rows import (
Shapes as Shapes, broadcast as broadcast, broadcasts as broadcasts, by_rank as by_rank, check_inputs
as check_inputs, checked as checked, first as first, merged_shape as merged_shape, no_outputs as
no_outputs, op as op, same as same, scalar as scalar
)
from actorsession.plan.device_set import DeviceSet as DeviceSet
from actorsession.plan.partition import Partition as Partition
from actorsession.plan.passes.optimise import OptimiserSettings as OptimiserSettings
from actorsession.plan.passes.registry import (
GraphPass as GraphPass, PassContext as PassContext, PassGroup as PassGroup, PassStatistics as
PassStatistics, PlacedGraph as PlacedGraph, register_pass as register_graph_pass, registered_passes
as registered_graph_passes, unregister_pass as unregister_graph_pass
)
from actorsession.plan.prune import StepGraph as StepGraph
from actorsession.plan.signature import RunSignature as RunSignature
from actorsession.registrations import registration_scope as registration_scope
from actorsession.runtime.devices import (
CPU_PRIORITY as CPU_PRIORITY, Device as Device, DeviceFactory as DeviceFactory, new_incarnation as
new_incarnation, prefer_device_type as prefer_device_type, register_device_factory as
register_device_factory, registered_device_types as registered_device_types
)
from actorsession.runtime.virtual_devices import VirtualDevices as VirtualDevices
from actorsession.session import (
SessionFactory as SessionFactory, SessionOptions as SessionOptions, register_factory as
register_session_factory
)
from actorsession.session.session_interface import (
OnEvict as OnEvict, SessionInterface as SessionInterface
)
from transports import (
Address as Address, AuthenticationError as AuthenticationError, BindError as BindError, ConnectError
as ConnectError, Connection as Connection, ConnectionClosed as ConnectionClosed, Frame as Frame,
Hello as Hello, Listener as Listener, ProtocolError as ProtocolError, SecurityConfig as
SecurityConfig, Transport as Transport, TransportError as TransportError, WrongPeer as WrongPeer,
parse_address as parse_address, register_transport as register_transport, transport_schemes as
transport_schemes, unregister_transport as unregister_transport
)
from transports.delivery import Delivery as Delivery
from transports.inproc import InprocTransport as InprocTransport
from transports.listener import OnConnection as OnConnection
from transports.stream.abstract import AbstractTransport as AbstractTransport
from transports.stream.connection import STREAM_LIMIT as STREAM_LIMIT
from transports.stream.tls_transport import TlsTransport as TlsTransport
from transports.stream.transport import (
StreamTransport as StreamTransport, Streams as Streams, TcpTransport as TcpTransport, UnixTransport
as UnixTransport
)


__all__ = [
"AbstractTransport", "Address", "Array", "AuthenticationError", "BindError", "CPU_PRIORITY",
"Collective", "Completed", "Completion", "ConfigProto", "ConnectError", "Connection",
"ConnectionClosed", "Delivery", "Device", "DeviceArrays", "DeviceAttributes", "DeviceClock",
"DeviceFactory", "DeviceGroup", "DeviceGroups", "DeviceKernel", "DeviceKernels", "DeviceSet",
"Frame", "Gradient", "GraphPass", "Hello", "IndexedSlices", "InferContext", "InprocTransport",
"Kernel", "KernelContext", "Lending", "Listener", "NOT_DIFFERENTIABLE", "NodeDef",
"NotDifferentiable", "OnConnection", "OnEvict", "OpDef", "Operation", "OptimiserSettings",
"Partition", "PassContext", "PassGroup", "PassStatistics", "PlacedGraph", "PluginWarning",
"ProtocolError", "REQUIRED", "RegisterGradient", "ResourceHost", "RunSignature", "STREAM_LIMIT",
"SecurityConfig", "SessionFactory", "SessionInterface", "SessionOptions", "Shapes", "SideBySide",
"StepGraph", "StreamTransport", "Streams", "SumTerm", "TcpTransport", "Tensor", "TensorShape",
"TensorSpec", "TlsTransport", "Transport", "TransportError", "UnixTransport", "VariableHolder",
"VirtualDevices", "WrongPeer", "broadcast", "broadcasts", "by_rank", "check_inputs", "checked",
"convert_to_tensor", "first", "get_default_graph", "many", "merged_shape", "new_incarnation",
"no_outputs", "node", "one", "op", "parse_address", "prefer_device_type", "register_device_factory",
"register_graph_pass", "register_op", "register_session_factory", "register_transport",
"registered_device_types", "registered_graph_passes", "registered_ops", "registration_scope",
"same", "scalar", "transport_schemes", "unregister_graph_pass", "unregister_transport"
]
