"""What an extension imports: operations, graph passes, device types, transports and kinds of session.

These names stay, with what their docstrings say of them; a change of one is in the changelog. All other
modules may change at any time, but those of ``actorsession`` itself and its namespaces (``acts.nn``,
``acts.plugins``, ...), which are for programs. docs/extending.md has a recipe of each kind.

A name is imported when it is first used. ``actorsession`` does not import this module.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.config": "ConfigProto",
    "actorsession.entry_points": "PluginWarning",
    "actorsession.graph.completion": "Completed Completion",
    "actorsession.graph.device": "DeviceAttributes",
    "actorsession.graph.graph": "get_default_graph",
    "actorsession.graph.node": "NodeDef TensorSpec",
    "actorsession.graph.operation": "Operation Tensor",
    "actorsession.graph.registry": (
        "Array Gradient InferContext Kernel KernelContext NOT_DIFFERENTIABLE OpDef REQUIRED "
        "ResourceHost SumTerm VariableHolder register=register_op registered_ops"
    ),
    "actorsession.graph.shape": "TensorShape",
    "actorsession.ops.apply": "many node one",
    "actorsession.ops.build": "convert_to_tensor",
    "actorsession.ops.derivatives.registry": "NotDifferentiable RegisterGradient",
    "actorsession.ops.indexed_slices": "IndexedSlices",
    "actorsession.ops.rows": (
        "Shapes broadcast broadcasts by_rank check_inputs checked first merged_shape no_outputs op same scalar"
    ),
    "actorsession.graph.collective_call": "Collective DeviceGroup DeviceGroups",
    "actorsession.graph.device_kernels": "DeviceArrays DeviceClock DeviceKernel DeviceKernels Lending SideBySide",
    "actorsession.plan.device_set": "DeviceSet",
    "actorsession.plan.partition": "Partition",
    "actorsession.plan.passes.optimise": "OptimiserSettings",
    "actorsession.plan.passes.registry": (
        "GraphPass PassContext PassGroup PassStatistics PlacedGraph "
        "register_pass=register_graph_pass registered_passes=registered_graph_passes "
        "unregister_pass=unregister_graph_pass"
    ),
    "actorsession.plan.prune": "StepGraph",
    "actorsession.plan.signature": "RunSignature",
    "actorsession.registrations": "registration_scope",
    "actorsession.runtime.devices": (
        "CPU_PRIORITY Device DeviceFactory new_incarnation prefer_device_type register_device_factory "
        "registered_device_types"
    ),
    "actorsession.runtime.virtual_devices": "VirtualDevices",
    "actorsession.session": ("SessionFactory SessionOptions register_factory=register_session_factory"),
    "actorsession.session.session_interface": "OnEvict SessionInterface",
    "transports": (
        "Address AuthenticationError BindError ConnectError Connection ConnectionClosed Frame Hello "
        "Listener ProtocolError SecurityConfig Transport TransportError WrongPeer parse_address "
        "register_transport transport_schemes unregister_transport"
    ),
    "transports.inproc": "InprocTransport",
    "transports.listener": "OnConnection",
    "transports.delivery": "Delivery",
    "transports.stream.abstract": "AbstractTransport",
    "transports.stream.connection": "STREAM_LIMIT",
    "transports.stream.tls_transport": "TlsTransport",
    "transports.stream.transport": "StreamTransport Streams TcpTransport UnixTransport",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
