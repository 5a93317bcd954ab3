"""``tensorflow.python.framework.test_util``: decorators and helpers of TensorFlow's own unit tests.

What concerns eager execution, GPUs, XLA and sanitizers leaves a test as it is, or skips it where it can mean
nothing else: a test that would run both in a graph and eagerly runs in a graph.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import itertools
import os
import socket
import tempfile
import unittest
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from actorsession.compat.v1.graphs.graph import Graph, get_default_graph
from actorsession.compat.v1.sessions.session import Session as ErrorLoggingSession
from actorsession.compat.v1.test import TestCase as TensorFlowTestCase
from actorsession.compat.v1.test import (
    assert_equal_graph_def,
    create_local_cluster,
    get_temp_dir,
    gpu_device_name,
    is_gpu_available,
    main,
)
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import transpose

__all__ = [
    "CapturedWrites", "ErrorLoggingSession", "GetTempDir", "GpuSupportsHalfMatMulAndConv",
    "InstallStackTraceHandler", "IsBuiltWithROCm", "IsBuiltWithXLA", "IsCPUTargetAvailable",
    "IsGoogleCudaEnabled", "IsMklEnabled", "NCHWToNHWC", "NHWCToNCHW", "StubOutForTesting",
    "TensorFlowTestCase", "add_graph_building_optimization_tests", "also_run_as_tf_function",
    "assert_equal_graph_def", "assert_equal_graph_def_v1", "assert_equal_graph_def_v2",
    "assert_meta_graph_protos_equal", "assert_no_garbage_created",
    "assert_no_new_pyobjects_executing_eagerly", "assert_no_new_tensors", "assert_ops_in_graph",
    "build_as_function_and_v1_graph", "create_local_cluster", "deprecated_graph_mode_only",
    "deterministic_ops", "device", "disable_asan", "disable_control_flow_v2",
    "disable_cudnn_autotune", "disable_eager_op_as_function", "disable_mlir_bridge",
    "disable_msan", "disable_tfrt", "disable_tsan", "disable_ubsan", "disable_xla",
    "enable_c_shapes", "enable_control_flow_v2", "enable_eager_op_as_function",
    "enable_graph_building_optimization", "enable_nested_function_shape_inference",
    "enable_output_all_intermediates", "enable_quantized_dtypes_training",
    "enable_tf_xla_constant_folding", "for_all_test_methods", "force_cpu", "force_gpu",
    "generate_combinations_with_testcase_name", "get_node_def_from_graph", "get_temp_dir",
    "gpu_device_name", "is_asan_enabled", "is_gpu_available", "is_mlir_bridge_enabled",
    "is_msan_enabled", "is_tsan_enabled", "is_ubsan_enabled", "is_xla_enabled", "main",
    "matmul_without_tf32", "no_xla_auto_jit", "pick_unused_port", "py_func_if_in_function",
    "run_all_in_deprecated_graph_mode_only", "run_all_in_graph_and_eager_modes",
    "run_all_without_tensor_float_32", "run_class_in_v1_v2", "run_cuda_only", "run_deprecated_v1",
    "run_functions_eagerly", "run_gpu_only", "run_gpu_or_tpu", "run_in_async_and_sync_mode",
    "run_in_graph_and_eager_modes", "run_in_v1_v2", "run_v1_only", "run_v2_only",
    "run_without_tensor_float_32", "set_producer_version", "set_xla_env_flag", "skip_if",
    "skip_if_error", "sync_devices", "use_gpu", "with_c_shapes", "with_control_flow_v2",
    "with_eager_op_as_function", "with_forward_compatibility_horizons", "xla_allow_fallback",
]  # fmt: skip

GetTempDir = get_temp_dir
assert_equal_graph_def_v1 = assert_equal_graph_def

# -- decorators that leave a test as it is -----------------------------------------------------


def run_deprecated_v1(func: Any) -> Any:
    """Return a test, or a class of tests, as it is: all run in graphs."""
    return func


deprecated_graph_mode_only = run_all_in_deprecated_graph_mode_only = run_deprecated_v1
run_all_in_graph_and_eager_modes = run_class_in_v1_v2 = run_in_async_and_sync_mode = run_deprecated_v1
enable_c_shapes = with_c_shapes = enable_control_flow_v2 = with_control_flow_v2 = run_deprecated_v1
enable_output_all_intermediates = enable_nested_function_shape_inference = run_deprecated_v1
enable_quantized_dtypes_training = enable_eager_op_as_function = run_deprecated_v1
enable_graph_building_optimization = add_graph_building_optimization_tests = run_deprecated_v1
also_run_as_tf_function = py_func_if_in_function = disable_cudnn_autotune = run_deprecated_v1


def disable_xla(description: str = "") -> Callable[[Any], Any]:
    """Return a decorator that leaves a test, or a class of tests, as it is.

    Args:
        description: the reason why something that is not here is not to be used.
    """
    return run_deprecated_v1


disable_mlir_bridge = disable_tfrt = disable_asan = disable_msan = disable_tsan = disable_xla
disable_ubsan = disable_control_flow_v2 = disable_eager_op_as_function = disable_xla
no_xla_auto_jit = xla_allow_fallback = enable_tf_xla_constant_folding = disable_xla
run_without_tensor_float_32 = run_all_without_tensor_float_32 = set_xla_env_flag = disable_xla


def run_v1_only(reason: Any = None, func: Any = None) -> Any:
    """Return a test as it is, or a decorator that does so.

    Args:
        reason: why it does not run with TensorFlow 2; the test itself if it is called without a reason.
        func: the test.
    """
    test = reason if callable(reason) else func
    return run_deprecated_v1 if test is None else test


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """Return a class of tests as it is, or a decorator that does so."""
    return run_deprecated_v1 if cls is None else cls


def run_in_v1_v2(device_to_use: str | None = None, assert_no_eager_garbage: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that leaves a test as it is."""
    return run_deprecated_v1


def with_forward_compatibility_horizons(*horizons: Any) -> Callable[[Any], Any]:
    """Return a decorator that leaves a test as it is: operations have one version."""
    return run_deprecated_v1


# -- decorators of tests that are skipped ------------------------------------------------------


def run_v2_only(func: Any = None, reason: str | None = None) -> Any:
    """Skip a test of TensorFlow 2."""
    skip = unittest.skip(reason or "it is a test of TensorFlow 2")
    return skip if func is None else skip(func)


def run_gpu_only(func: Any) -> Any:
    """Skip a test of GPUs where there is none."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not is_gpu_available():
            raise unittest.SkipTest("there is no GPU")
        return func(*args, **kwargs)

    return run


run_cuda_only = run_gpu_or_tpu = run_gpu_only


def assert_no_new_pyobjects_executing_eagerly(warmup_iters: Any = 2) -> Any:
    """Skip a test of what eager execution leaves behind."""
    skip = unittest.skip("there is no eager execution")
    return skip(warmup_iters) if callable(warmup_iters) else skip


def skip_if(condition: Callable[[], bool] | bool) -> Callable[[Any], Any]:
    """Return a decorator for a test that does nothing if a condition holds when it begins."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(self: unittest.TestCase, *args: Any, **kwargs: Any) -> Any:
            held = condition() if callable(condition) else condition
            return None if held else test(self, *args, **kwargs)

        return run

    return decorate


@contextlib.contextmanager
def skip_if_error(test_obj: unittest.TestCase, error_type: type[Exception], messages: Any = None) -> Iterator[None]:
    """Make a block that skips its test if it raises an error.

    Args:
        test_obj: the test.
        error_type: the class of the error.
        messages: a text of it, or several of which one has to be in it; any if omitted.
    """
    texts = [messages] if isinstance(messages, str) else list(messages or [""])
    try:
        yield
    except error_type as exc:
        if not any(text in str(exc) for text in texts):
            raise
        test_obj.skipTest(f"Skipping error: {type(exc)}: {exc}")


# -- decorators that run tests otherwise -------------------------------------------------------


def run_in_graph_and_eager_modes(
    func: Any = None, config: Any = None, use_gpu: bool = True, assert_no_eager_garbage: bool = False, **older: Any
) -> Any:
    """Make a test run within ``test_session``; it does not run eagerly.

    Args:
        func: the test; a decorator is returned if omitted.
        config: settings of the session.
        use_gpu: as for ``test_session``.
        assert_no_eager_garbage: accepted for compatibility and ignored.
        **older: arguments of older versions, which are ignored.

    Raises:
        ValueError: for a class; ``run_all_in_graph_and_eager_modes`` takes those.
    """

    def decorate(test: Any) -> Any:
        if inspect.isclass(test):
            raise ValueError(
                "`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                "`run_all_in_graph_and_eager_modes`?"
            )

        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with self.test_session(use_gpu=use_gpu, config=config):
                test(self, *args, **kwargs)

        return run

    return decorate if func is None else decorate(func)


def build_as_function_and_v1_graph(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make a test run in a graph of its own.

    Raises:
        ValueError: for a class.
    """
    if inspect.isclass(func):
        raise ValueError("`run_in_graph_mode_and_function` only supports test methods.")

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with Graph().as_default():
            return func(self, *args, **kwargs)

    return run


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator for classes that decorates their tests.

    Args:
        decorator: makes the decorator of a test.
        *args: its arguments.
        **kwargs: its arguments by name.
    """

    def decorate(cls: Any) -> Any:
        for name, value in list(vars(cls).items()):
            if callable(value) and name.startswith("test") and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def _alive(*kinds: type) -> dict[int, Any]:
    return {id(instance): instance for instance in gc.get_objects() if type(instance) in kinds}


def assert_no_new_tensors(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a test fail if tensors that it builds are still there after it."""

    @functools.wraps(f)
    def run(self: unittest.TestCase, **kwargs: Any) -> Any:
        gc.collect()
        before = _alive(Tensor)
        with Graph().as_default():
            result = f(self, **kwargs)
        gc.collect()
        new = [tensor for key, tensor in _alive(Tensor).items() if key not in before]
        self.assertEqual(len(new), 0, f"tensors are left: {new[:5]!r}")  # noqa: PT009
        return result

    return run


def assert_no_garbage_created(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a test fail if it leaves tensors or operations that hold one another and nobody uses."""

    @functools.wraps(f)
    def run(self: unittest.TestCase, **kwargs: Any) -> Any:
        gc.collect()
        flags, kept = gc.get_debug(), len(gc.garbage)
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            result = f(self, **kwargs)
            gc.collect()
            left = [type(o).__name__ for o in gc.garbage[kept:] if isinstance(o, (Tensor, Operation))]
        finally:
            gc.set_debug(flags)
            del gc.garbage[kept:]
            gc.enable()
        self.assertEqual(left, [], "garbage is left")  # noqa: PT009
        return result

    return run


# -- blocks ------------------------------------------------------------------------------------


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Make a block whose operations are placed on the CPU unless a GPU may be used."""
    if use_gpu:
        yield
    else:
        with get_default_graph().device("/device:CPU:0"):
            yield


def use_gpu() -> Any:
    """Make a block whose operations may be placed on a GPU."""
    return device(True)


force_gpu = use_gpu


def force_cpu() -> Any:
    """Make a block whose operations are placed on the CPU."""
    return device(False)


@contextlib.contextmanager
def deterministic_ops() -> Iterator[None]:
    """Make a block whose operations give the same results each time, as all do."""
    yield


@contextlib.contextmanager
def run_functions_eagerly(run_eagerly: bool) -> Iterator[None]:
    """Make a block; functions run in graphs."""
    yield


def sync_devices() -> None:
    """Do nothing: a run has ended when it returns."""


# -- what there is -----------------------------------------------------------------------------


def IsGoogleCudaEnabled(*args: Any) -> bool:
    """Return whether this was built with what the name says: always ``False``."""
    return False


IsBuiltWithROCm = IsBuiltWithXLA = IsMklEnabled = GpuSupportsHalfMatMulAndConv = IsGoogleCudaEnabled
is_xla_enabled = is_mlir_bridge_enabled = is_asan_enabled = is_msan_enabled = IsGoogleCudaEnabled
is_tsan_enabled = is_ubsan_enabled = IsGoogleCudaEnabled


def IsCPUTargetAvailable(target: str) -> bool:
    """Return whether operations can be compiled for a kind of processor: nothing is compiled."""
    return False


def InstallStackTraceHandler() -> None:
    """Print the stacks of all threads when the process crashes."""
    import faulthandler

    faulthandler.enable()


# -- graphs ------------------------------------------------------------------------------------


def assert_ops_in_graph(expected_ops: Mapping[str, str], graph: Any) -> dict[str, Any]:
    """Assert that a graph has operations of given types, and return their nodes by name.

    Args:
        expected_ops: the types by name.
        graph: the graph.

    Raises:
        ValueError: if one is not there, or has another type.
    """
    nodes = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, op_type in expected_ops.items():
        if name not in nodes:
            raise ValueError(f"Not all expected ops are present. Expected {expected_ops}, found {sorted(nodes)}")
        if nodes[name].op != op_type:
            raise ValueError(f"Expected op for node {name} is different. Expected {op_type}, found {nodes[name].op}")
    return nodes


def assert_equal_graph_def_v2(expected: Any, actual: Any) -> None:
    """Assert that two graphs as messages have equal nodes, in any order."""
    assert_equal_graph_def(actual, expected)


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Assert that two graphs with their collections are equal.

    Args:
        tester: the test case.
        a: one of them.
        b: the other one.
    """
    tester.assertEqual(sorted(a.collection_def), sorted(b.collection_def))  # noqa: PT009
    for key in a.collection_def:
        tester.assertProtoEquals(a.collection_def[key], b.collection_def[key])
    assert_equal_graph_def(a.graph_def, b.graph_def)
    rest = [a.copy(), b.copy()]
    for message in rest:
        for field in "graph_def", "collection_def":
            message.ClearField(field)
    tester.assertProtoEquals(*rest)


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """Return the node of a graph as a message with a name; ``None`` if there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def set_producer_version(graph: Any, producer_version: int) -> None:
    """Set the version that a graph says it was made by."""
    graph.graph_def_versions.producer = producer_version


def _permuted(value: Any, four: list[int], five: list[int]) -> Any:
    order = {4: four, 5: five}[len(value) if isinstance(value, (list, np.ndarray)) else value.shape.rank]
    if isinstance(value, Tensor):
        return transpose(value, order)
    return [value[place] for place in order]


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Return an image, or the sizes of one, with its channels before height and width."""
    return _permuted(input_tensor, [0, 3, 1, 2], [0, 4, 1, 2, 3])


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Return an image, or the sizes of one, with its channels behind height and width."""
    return _permuted(input_tensor, [0, 2, 3, 1], [0, 2, 3, 4, 1])


def matmul_without_tf32(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the product of two matrices."""
    from actorsession.ops import matmul

    return matmul(a, b, *args, **kwargs)


# -- the rest ----------------------------------------------------------------------------------


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[OrderedDict[str, Any]]:
    """Return all combinations of values of arguments, each with a name in ``testcase_name``.

    Args:
        **kwargs: a value, or a list of the values, of each argument.
    """
    options = [
        [(key, one) for one in (value if isinstance(value, list) else [value])] for key, value in sorted(kwargs.items())
    ]
    combinations = []
    for chosen in itertools.product(*options):
        name = "".join(
            f"_{''.join(filter(str.isalnum, key))}_{''.join(filter(str.isalnum, str(value)))}" for key, value in chosen
        )
        combinations.append(OrderedDict([*chosen, ("testcase_name", f"_test{name}")]))
    return combinations


def pick_unused_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class CapturedWrites:
    """What was written to a stream.

    Args:
        capture_location: the file to which it is written.
    """

    def __init__(self, capture_location: str) -> None:
        self.capture_location = capture_location

    def contents(self) -> str:
        """Return it as text."""
        with open(self.capture_location, encoding="utf-8") as file:
            return file.read()


@contextlib.contextmanager
def captured_writes(stream: Any, folder: str) -> Iterator[CapturedWrites]:
    """Make a block in which what the process writes to a stream goes to a file.

    Args:
        stream: the stream, which has a file descriptor.
        folder: where the file is made.
    """
    number = stream.fileno()
    before = os.dup(number)
    descriptor, path = tempfile.mkstemp(dir=folder)
    try:
        stream.flush()
        os.dup2(descriptor, number)
        os.close(descriptor)
        yield CapturedWrites(path)
    finally:
        stream.flush()
        os.dup2(before, number)
        os.close(before)


class StubOutForTesting:
    """Replaces attributes until it is told to put the former ones back, which it also does at its end."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *raised: object) -> None:
        self.CleanUp()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute.

        Args:
            parent: the object or module.
            child_name: the attribute.
            new_child: its value.
        """
        self._replaced.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    SmartSet = Set

    def UnsetAll(self) -> None:
        """Put all former values back."""
        for parent, name, value in reversed(self._replaced):
            setattr(parent, name, value)
        self._replaced.clear()

    SmartUnsetAll = CleanUp = UnsetAll
