"""What a program may send to its own processes, and what says that it cannot be sent.

Every public class is in one of the lists below: errors, values, what belongs to one process, and what holds
what its user gave it. A class that is new must be in one of them.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import inspect
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
import transports
from actorsession import errors
from actorsession.interop.message import Message
from actorsession.process_bound import GraphBound, ProcessBound
from scripts.pages import public_modules, public_names
from tests.rows import for_each


def through_pickle(value: Any) -> Any:
    """What another process gets."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - what programs do


WAYS: list[Callable[[Any], Any]] = [through_pickle, copy.copy, copy.deepcopy]


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def is_ours(value: Any) -> bool:
    """Whether a class or module is of these packages; inner paths show the same ones again."""
    where = value.__module__ if inspect.isclass(value) else getattr(value, "__name__", "")
    rooms = str(where).split(".")
    return rooms[0] in ("actorsession", "transports") and "python" not in rooms


@cache
def public_classes() -> dict[type, str]:
    """Every public class of ours, with its first name."""
    found: dict[type, str] = {}
    modules: dict[str, ModuleType] = {**public_modules(), "transports": transports}
    for name, module in modules.items():
        for inner, value in public_names(module):
            if inspect.isclass(value) and is_ours(value):
                found.setdefault(value, f"{name}.{inner}")
    waiting: list[tuple[str, ModuleType]] = [("tf", tf)]
    seen = {id(tf)}
    while waiting:
        name, module = waiting.pop(0)
        for inner in dir(module):
            value = None if inner.startswith("_") else getattr(module, inner)
            if inspect.isclass(value) and is_ours(value):
                found.setdefault(value, f"{name}.{inner}")
            elif isinstance(value, ModuleType) and is_ours(value) and id(value) not in seen:
                seen.add(id(value))
                waiting.append((f"{name}.{inner}", value))
    return found


# -- the lists -------------------------------------------------------------------------------------

# Values that are made by no rule below, an example of each.
VALUES: dict[type, Callable[[], Any]] = {
    acts.ClusterSpec: lambda: acts.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:2"]}),
    acts.DType: lambda: [acts.float32, acts.string, acts.bfloat16, acts.complex128],
    acts.TensorShape: lambda: [acts.TensorShape(s) for s in (None, [], [2, None])],
    tf.TensorShape: lambda: [tf.TensorShape(s) for s in (None, [], [2, None])],
    tf.Dimension: lambda: [tf.Dimension(None), tf.Dimension(3)],
    tf.train.ClusterSpec: lambda: tf.train.ClusterSpec({"ps": ["a:1"]}),
    tf.TensorSpec: lambda: tf.TensorSpec([1, None], tf.float32, "x"),
    tf.SparseTensorSpec: lambda: tf.SparseTensorSpec([1, None], tf.string),
    tf.IndexedSlicesSpec: lambda: tf.IndexedSlicesSpec([1, None], tf.float32),
    tf.data.Options: lambda: tf.data.Options(),
    tf.contrib.checkpoint.List: lambda: tf.contrib.checkpoint.List([1]),
    tf.contrib.checkpoint.Mapping: lambda: tf.contrib.checkpoint.Mapping(a=1),
}

# What named tuples need that look at their fields.
FIELDS: dict[str, dict[str, Any]] = {
    "EstimatorSpec": {"mode": "infer", "predictions": {}},
    "EvalSpec": {"input_fn": len},
    "TrainSpec": {"input_fn": len},
}

# Objects of Python that pickle and copy as all objects do: with what they hold. With a tensor in them they
# say what a tensor says. By the names of the classes, with those below them.
HOLDERS = names(
    """
    AggregationMethod AttentionMechanism AutoTrackable Benchmark Bijector ByteProcessor
    CategoricalVocabulary CheckpointSaverListener ClusterResolver Composite ControlOutputs DataDecoder
    DataProvider DataSet Dataset DebugGraphDecoratorInterface DebugGraphDecoratorRegistry DebuggerState
    DebuggerStateRegistry Decoder DecoupledWeightDecayExtension DescribedClusterResolver DeviceArrays DeviceClock
    DeviceFactory DeviceGroup DeviceGroups DeviceSet Distribution Estimator Experiment
    ExponentialMovingAverage ExportOutput Exporter
    ExternalOptimizerInterface FakeSummaryWriter FileWriterCache FusedRNNCell GraphKeys
    GreedyLoadBalancingStrategy HParams Helper Initializer InputPipelineConfig InputSpec ItemHandler KMeans
    KernelContext KeyValueTensorInitializer Layer Lending LinearOperator MethodNameUpdater ModeKeys Optimizer
    PredictionKey ProfileOptionBuilder Profiler RandomStrategy Reducer Reduction RegisterGradient RegisterKL
    ReparameterizationType ResizeMethod ResourceHost RunConfig RunHookAdapterForMonitors SKCompat SaveSpec
    SaveableObject Scaffold SecondOrStepTimer ServingInputReceiver SessionCreator SessionFactory
    SessionRunContext SessionRunHook SideBySide SimpleClusterResolver StatsPublisherInterface StillClock SubGraphView
    Subclassing TFRecordCompressionType TFRecordOptions TensorServingInputReceiver TestCase TextFileIndex
    TextFileInitializer Timeline Transformer TransformerInfo TypeSpec VariableHolder VariableScope
    VocabularyProcessor _Settings variable_scope
    """
)

# The objects of connections, which no program outside the runtime holds.
TRANSPORTS = "transports"


def rule_of(kind: type) -> str:
    """The list in which a class is; "" for none."""
    if issubclass(kind, BaseException):
        return "error"
    if issubclass(kind, ProcessBound):
        return "bound"
    if issubclass(kind, enum.Enum):
        return "enum"
    if issubclass(kind, Message):
        return "message"
    if kind in VALUES:
        return "value"
    if any(cls.__name__ in HOLDERS for cls in kind.__mro__):
        return "holder"
    if dataclasses.is_dataclass(kind):
        return "dataclass"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return "named tuple"
    return "transport" if kind.__module__.startswith(TRANSPORTS) else ""


def of_rule(*rules: str) -> list[type]:
    """The public classes of some lists."""
    return [kind for kind in public_classes() if rule_of(kind) in rules]


def test_every_public_class_is_in_one_of_the_lists() -> None:
    classes = public_classes()
    assert [name for kind, name in classes.items() if not rule_of(kind)] == []
    assert len(classes) > 550
    bases = {cls.__name__ for kind in of_rule("holder") for cls in kind.__mro__}
    assert sorted(HOLDERS - bases) == []


# -- values and errors -----------------------------------------------------------------------------


def without_places(value: Any) -> str:
    """What a value shows, without the addresses of objects in it."""
    return re.sub(r"0x[0-9a-f]+", "", repr(value))


def example(kind: Any) -> Any:
    """An instance of a public class that is a value, or all members of an enum."""
    if kind in VALUES:
        return VALUES[kind]()
    if issubclass(kind, enum.Enum):
        return list(kind)
    if issubclass(kind, Message):
        return kind()
    if issubclass(kind, tuple):
        return kind(**FIELDS.get(kind.__name__, dict(zip(kind._fields, range(99), strict=False))))
    made = object.__new__(kind)  # what a field means is of no matter here
    for field in dataclasses.fields(kind):
        object.__setattr__(made, field.name, [field.name])
    return made


def test_every_value_pickles_and_copies() -> None:
    kinds: list[Any] = of_rule("value", "enum", "message", "dataclass", "named tuple")
    assert len(kinds) > 150
    for kind, way in product(kinds, WAYS):
        value = example(kind)
        other = way(value)
        assert type(other) is type(value)
        if dataclasses.is_dataclass(kind) and kind not in VALUES:
            for field in dataclasses.fields(kind):
                assert getattr(other, field.name) == getattr(value, field.name), kind
        else:
            assert other == value or without_places(other) == without_places(value), kind


def a_trace() -> acts.RunMetadata:
    """What a traced step returns."""
    metadata = acts.RunMetadata()
    options = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE, output_partition_graphs=True)
    with acts.Graph().as_default(), acts.Session() as session:
        session.run(acts.constant(2.0) * 3.0, options=options, run_metadata=metadata)
    return metadata


def a_session(ask: Callable[[acts.Session], Any]) -> Any:
    """What a session tells about itself."""
    with acts.Graph().as_default(), acts.Session() as session:
        session.run(acts.constant(1.0) + 1.0)
        return ask(session)


@for_each(
    "make",
    [
        lambda: acts.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1),
        lambda: tf.ConfigProto(device_count={"CPU": 2}),
        lambda: acts.RunOptions(timeout_in_ms=3),
        lambda: tf.RunOptions(timeout_in_ms=3),
        a_trace,
        lambda: a_session(lambda session: session.statistics()),
        lambda: a_session(lambda session: session.list_devices()),
        lambda: a_session(lambda session: session.graph.as_graph_def()),
        lambda: a_session(lambda session: session.graph.get_operations()[0].node_def),
        lambda: acts.DeviceSpec.from_string("/job:ps/task:1/cpu:0"),
        lambda: acts.train.AdamOptimizer(0.1).get_name(),
        lambda: tf.estimator.RunConfig(model_dir="m").model_dir,
        lambda: [acts.float32, acts.int64.as_numpy_dtype],
        lambda: acts.SecurityConfig(ca_file="a", certificate_file="b", key_file="c"),
        lambda: tf.contrib.training.HParams(a=1, b=[2.0]).values(),
    ],
)
def test_what_programs_hand_to_other_processes_arrives_there(make: Callable[[], Any]) -> None:
    value = make()
    for way in WAYS:
        assert way(value) == value


def test_values_of_sparse_tensors_arrive_as_they_were() -> None:
    slices = acts.sparse.IndexedSlicesValue(np.ones(2), np.arange(2), None)
    sparse = acts.sparse.SparseTensorValue(np.zeros([1, 1], np.int64), np.ones(1), np.array([3]))
    for way in WAYS:
        for value in (slices, sparse):
            other = way(value)
            assert type(other) is type(value)
            assert all(np.array_equal(a, b) for a, b in zip(other, value, strict=True))


def made_error(kind: Any) -> Any:
    """An error of a class, from as many words as its constructor requires."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:  # a constructor of C
        return kind("why")
    required = [p for p in parameters if p.default is p.empty and not p.kind.name.startswith("VAR")]
    named = {p.name: f"the {p.name}" for p in required if p.kind is p.KEYWORD_ONLY}
    words = [f"the {p.name}" for p in required if p.name not in named]
    if any(p.kind is not p.KEYWORD_ONLY for p in parameters):
        words = words or ["why"]
    try:
        return kind(*words, **named)
    except (AttributeError, KeyError):  # it takes something else than words
        return kind.__new__(kind, *words)


def errors_below(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    """Every class of errors of ours that has been imported."""
    for below in kind.__subclasses__():
        if is_ours(below) and not below.__name__.startswith("_"):
            yield below
        yield from errors_below(below)


def test_every_error_pickles_and_copies_with_its_notes_and_attributes() -> None:
    kinds: set[Any] = {*of_rule("error"), *errors_below(Exception)}
    assert len(kinds) > 45
    for kind, way in product(kinds, WAYS):
        error = made_error(kind)
        error.add_note("in the third epoch")
        error.epoch = 3
        other = way(error)
        assert type(other) is kind
        assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


class TwoWordsError(errors.AbortedError):
    """An error of a program whose constructor takes something else than it passes on."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


class CodeError(ValueError):
    """The same of a class that is not of ours."""

    def __init__(self, code: int, *, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


def local_error() -> ValueError:
    """An error of a class that no other process can find, which holds what cannot be pickled."""

    class HeldError(ValueError):
        pass

    error = HeldError("held", threading.Lock())
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    return error


@for_each(
    "cause, text, attributes",
    [
        (OSError(2, "No such file", "/gone"), "[Errno 2] No such file: '/gone'", {}),
        (KeyError("k"), "'k'", {}),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "can't decode byte 0xff", {}),
        (CodeError(3, why="no"), "3: no", {"code": 3}),
        (TwoWordsError(3, "no"), "3: no", {"code": 3}),
        (ExceptionGroup("two", [ValueError("one")]), "ExceptionGroup: two (1 sub-exception)", {}),
        (local_error(), "HeldError: ('held', <unlocked _thread.lock", {}),
        (transports.ConnectError("refused", address="tcp://h:1", errno=111), "refused", {"attempts": 1}),
    ],
)
def test_the_causes_of_an_error_travel_with_it(cause: Any, text: str, attributes: dict[str, Any]) -> None:
    cause.add_note("of the cause")
    cause.__cause__ = RuntimeError("the first")
    error = errors.AbortedError("outer")
    error.__cause__ = cause
    other = through_pickle(error)
    assert type(other) is type(error)
    found: Any = other.__cause__
    assert text in str(found)
    assert {name: getattr(found, name) for name in attributes} == attributes
    assert str(found.__cause__) == "the first"
    assert type(found.__cause__) is RuntimeError


def test_errors_that_are_each_others_causes_pickle() -> None:
    first, second = errors.AbortedError("first"), ValueError("second")
    first.__cause__, second.__context__ = second, first
    other = through_pickle(first)
    assert str(other.__cause__) == "second"
    assert other.__cause__.__context__ is other
    assert other.__suppress_context__


def test_an_error_whose_class_is_local_arrives_as_the_nearest_class_that_is_found() -> None:
    class LocalError(errors.OutOfRangeError):
        pass

    other = through_pickle(LocalError("past the end", node="n"))
    assert type(other) is errors.OutOfRangeError
    assert str(other) == "past the end [node n]"


# -- what belongs to one process -------------------------------------------------------------------


def sentence(kind: type, way: Callable[[Any], Any], value: Any) -> str:
    """What a program reads that pickles or copies something that cannot be."""
    expected = f"^{kind.__name__} objects can be neither pickled nor copied, because they belong to"
    with pytest.raises(TypeError, match=expected) as caught:
        way(value)
    return str(caught.value)


def test_what_belongs_to_one_process_says_so() -> None:
    kinds: list[Any] = of_rule("bound")
    assert len(kinds) > 60
    for kind in kinds:
        if inspect.isabstract(kind):
            kind = type(kind.__name__, (kind,), dict.fromkeys(kind.__abstractmethods__))
        value = object.__new__(kind)
        for way in (through_pickle, copy.deepcopy):
            assert sentence(kind, way, value).endswith(f": {kind.instead}")
        if issubclass(kind, GraphBound):
            assert copy.copy(value) is value
        else:
            sentence(kind, copy.copy, value)


def test_a_list_with_a_tensor_in_it_says_what_the_tensor_says() -> None:
    with acts.Graph().as_default() as graph, acts.Session() as session:
        x = acts.placeholder(acts.float32, name="x")
        v = acts.Variable(1.0)
        optimizer = acts.train.AdamOptimizer(0.1)
        optimizer.minimize(v * v)
        call = session.make_callable(x + 1.0, [x])
        for kind, value in [
            (acts.Tensor, [x]),
            (acts.Variable, {"v": v}),
            (acts.Operation, (x.op,)),
            (acts.Graph, graph),
            (acts.Session, session),
            (type(call), call),
        ]:
            sentence(kind, through_pickle, value)
            sentence(kind, copy.deepcopy, value)
        with pytest.raises(TypeError, match="objects can be neither pickled nor copied"):
            pickle.dumps(optimizer)


# -- in a pool of processes ------------------------------------------------------------------------

PROGRAM = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import actorsession as acts

class CodeError(ValueError):
    def __init__(self, code, *, why):
        super().__init__(f"{code}: {why}")

def raise_error(x):
    raise CodeError(7, why="from the function") from KeyError("deeper")

def step(where):
    with acts.Graph().as_default(), acts.Session() as session:
        x = acts.placeholder(acts.float32, [2], name="x")
        if where == "Placeholder":
            return session.run(x + 1.0)
        if where == "Reshape":
            return session.run(acts.reshape(x, acts.cast(x, acts.int32)), {x: [3.0, 3.0]})
        if where == "PyFunc":
            return session.run(acts.py_func(raise_error, [x], acts.float32), {x: [1.0, 1.0]})
        return session

with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
    for where in sys.argv[1:]:
        error = pool.submit(step, where).exception()
        print(type(error).__name__, error)
        if where != "session":
            assert error.op is None, error.op
            assert (error.node, error.node_def.op) == (error.node_def.name, where), error
            assert "<string>" in error.source, error.source
            assert "in step" in str(error.__cause__), error.__cause__  # the traceback of the other process
"""


def test_an_error_of_a_step_in_another_process_arrives_with_its_node() -> None:
    expected = {
        "Placeholder": "InvalidArgumentError You must feed a value for placeholder",
        "Reshape": "InvalidArgumentError Input to reshape is a tensor with 2 values",
        "PyFunc": "InvalidArgumentError CodeError: 7: from the function",
        "session": "TypeError Session objects can be neither pickled nor copied",
    }
    command = [sys.executable, "-c", PROGRAM, *expected]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    for line, begin in zip(ended.stdout.splitlines(), expected.values(), strict=True):
        assert begin in line
