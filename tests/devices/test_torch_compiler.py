"""The compiler of torch's devices: what it makes of functions of kernels, and sessions that compile by it."""

from __future__ import annotations

import importlib
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import ConfigProto, Graph, Session, ops
from actorsession.extend import register_device_factory
from tests.devices.test_torch_devices import OPTIMIZERS, dense
from tests.plan.kit import OFTEN, settle_compilers
from tests.rows import few_of

torch = pytest.importorskip("torch", reason="torch is not installed")

[TorchCpu] = [entry.load() for entry in entry_points(group="actorsession.device_factories", name="TORCH_CPU")]
TorchCompiler: Any = type(TorchCpu().kernels.compiler)


class Backend:
    """A backend of ``torch.compile`` that counts the graphs that it gets, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.calls = 0

    def __call__(self, graph: Any, examples: Any) -> Any:
        self.graphs.append(graph)

        def run(*tensors: Any) -> Any:
            self.calls += 1
            return graph.forward(*tensors)

        return run


def compiled_by(backend: Any) -> ConfigProto:
    """Settings of sessions whose device ``COMPILED`` has torch's kernels, and compiles by a backend."""

    class Compiled(TorchCpu):  # type: ignore[misc,valid-type]
        def list_physical_devices(self) -> tuple[str, ...]:
            return ("/physical_device:COMPILED:0",)

    factory = Compiled()
    factory.kernels = replace(factory.kernels, compiler=TorchCompiler(backend, is_judged=False))
    register_device_factory("COMPILED", factory)
    options = acts.GraphOptions(optimizer_options=acts.OptimizerOptions(global_jit_level=acts.config.JitLevel.ON_1))
    return ConfigProto(device_count={"COMPILED": 1}, graph_options=options)


PLAIN = ConfigProto(device_count={"COMPILED": 1})

UNARY = [ops.exp, ops.tanh, ops.sigmoid, ops.square, ops.negative, ops.abs, tf.nn.relu, tf.nn.softplus, tf.identity]
BINARY = [ops.add, ops.subtract, ops.multiply, ops.maximum, ops.minimum, tf.squared_difference]


def elementwise(seed: int) -> tuple[Graph, list[Any], dict[Any, Any]]:
    """A graph of some twenty random nodes, whose results are bounded now and then; whole numbers are constants."""
    random = np.random.default_rng(seed)
    shape = [3, 5] if seed % 2 else [None, None]
    with Graph().as_default() as graph, graph.device("/device:COMPILED:0"):
        feeds = {ops.placeholder("float32", shape): random.normal(size=(3, 5)).astype("f4") for _ in range(3)}
        values = [*feeds, ops.constant(random.normal(size=5).astype("f4"))]
        for _ in range(20):
            if random.random() < 0.5:
                values.append(UNARY[random.integers(len(UNARY))](ops.tanh(values[random.integers(len(values))])))
            else:
                values.append(
                    BINARY[random.integers(len(BINARY))](*[values[k] for k in random.integers(0, len(values), 2)])
                )
        fetches = [values[-1], tf.reduce_sum(values[-2], 0), tf.reshape(values[-3], [-1]), tf.transpose(values[-1])]
    return graph, fetches, feeds


def gives_compiled_the_same(seed: int, config: ConfigProto, counting: Backend | None = None) -> None:
    """A random graph gives what its kernels give, and by the backend, if that counts."""
    graph, fetches, feeds = elementwise(seed)
    with Session(graph=graph, config=PLAIN) as session:
        expected = session.run(fetches, feeds)
    with Session(graph=graph, config=config) as session:
        for _ in range(OFTEN):
            session.run(fetches, feeds)
        settle_compilers()
        before = counting.calls if counting else -1
        for got, value in zip(session.run(fetches, feeds), expected, strict=True):
            np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6)
        assert counting is None or counting.calls > before


@pytest.mark.parametrize("backend", ["counting", *few_of(["aot_eager"], 2)])
def test_random_graphs_give_compiled_what_their_kernels_give(backend: str) -> None:
    counting = Backend() if backend == "counting" else None
    config = compiled_by(counting or backend)
    for seed in range(8):
        gives_compiled_the_same(seed, config, counting)


def trained(config: ConfigProto, optimizer: Any, steps: int) -> list[Any]:
    with tf.Graph().as_default() as graph, graph.device("/device:COMPILED:0"):
        initialiser, step, feeds, compared = dense(optimizer())
    with tf.Session(graph=graph, config=config) as session:
        session.run(initialiser)
        for _ in range(steps):
            session.run(step, feeds)
            settle_compilers()
        return list(session.run(compared, feeds))


@pytest.mark.parametrize("name", ["gradient descent", "adam"])
def test_a_network_learns_compiled_what_it_learns_otherwise(name: str) -> None:
    """Its variables are read and changed outside of what is compiled, and change in place as ever."""
    backend = Backend()
    config = compiled_by(backend)
    for got, expected in zip(
        trained(config, OPTIMIZERS[name], 3 * OFTEN), trained(PLAIN, OPTIMIZERS[name], 3 * OFTEN), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    # Before the loss, whose labels are whole numbers that change, and behind it; once each.
    assert 1 <= len(backend.graphs) <= 3
    assert backend.calls >= OFTEN


def test_a_loop_compiles_its_body() -> None:
    backend = Backend()
    config = compiled_by(backend)
    with Graph().as_default() as graph, graph.device("/device:COMPILED:0"):
        x = ops.placeholder("float32", [2])
        y = ops.while_loop(lambda i, y: i < 40, lambda i, y: (i + 1, ops.tanh(y * 2.0 + x) * 0.5 + x), [0, x])[1]
    with Session(graph=graph, config=PLAIN) as plain, Session(graph=graph, config=config) as session:
        for _ in range(2):
            np.testing.assert_allclose(session.run(y, {x: [1, -2]}), plain.run(y, {x: [1, -2]}), rtol=1e-6)
            settle_compilers()
    assert len(backend.graphs) == 1
    assert backend.calls >= 40


# -- one function ----------------------------------------------------------------------------------

X: Any = np.arange(6, dtype="f4").reshape(2, 3)


def tensor(array: Any = X) -> Any:
    return torch.from_numpy(np.array(array))


def storage(value: Any) -> int:
    return int(value.untyped_storage().data_ptr())


def test_what_depends_on_numbers_is_not_compiled_for_those_of_one_call() -> None:
    for function in (lambda x: (x if x.sum() > 0 else -x,), lambda x: (torch.from_numpy(x.numpy() + 1),)):
        with pytest.raises(Exception, match=r"data-dependent|\.numpy\(\) is not supported"):
            TorchCompiler(Backend(), is_judged=False)(function, [tensor()])
    made = TorchCompiler(Backend(), is_judged=False)(lambda x: (x * x.sum().item(),), [tensor()])
    np.testing.assert_array_equal(made(tensor(X + 1))[0], (X + 1) * 21)


def test_numbers_of_constants_and_of_numpy_are_part_of_it() -> None:
    factor, axes = tensor([2.0, 3.0, 4.0]), np.array([1])
    backend = Backend()
    made = TorchCompiler(backend, is_judged=False)(lambda x: (torch.sum(x * factor, axes.tolist()),), [tensor()])
    np.testing.assert_array_equal(made(tensor())[0], [11.0, 38.0])
    assert [node.op for node in backend.graphs[0].graph.nodes].count("placeholder") == 1


def test_results_share_no_memory_that_they_do_not_share_otherwise() -> None:
    """A compiler may see that two are equal, or that one is an argument; each may be changed in place later."""

    def merging(graph: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            y = x + 1
            return [y, y, x, x.reshape(-1), x]

        return run

    made = TorchCompiler(merging, is_judged=False)(
        lambda x: (x + 1, 1 + x, x * 1, x.reshape(-1), x.clone()), [tensor()]
    )
    x = tensor()
    results = made(x)
    for got, expected in zip(results, (X + 1, X + 1, X, X.reshape(-1), X), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert len({storage(value) for value in results}) == 5
    assert [storage(value) == storage(x) for value in results] == [False, False, False, True, False]


def test_arguments_with_gaps_get_the_strides_for_which_it_was_compiled() -> None:
    strides = []

    def strict(graph: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        def run(*tensors: Any) -> Any:
            strides.append([value.stride() for value in tensors])
            assert strides[0] == strides[-1]
            return graph.forward(*tensors)

        return run

    given = [tensor()[:, :2], tensor().t(), tensor([[1.0]]).expand(3, 2)]
    made = TorchCompiler(strict, is_judged=False)(lambda x, y, z: (x + 1, y * 2, z * 3), given)
    for got, expected in zip(made(*given), (X[:, :2] + 1, X.T * 2, np.full((3, 2), 3)), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert strides[-1] == [(2, 1), (1, 3), (2, 1)]


def test_a_function_that_is_no_faster_compiled_stays_as_it_is() -> None:
    def slow(graph: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        def run(*tensors: Any) -> Any:
            for _ in range(100):
                graph.forward(*tensors)
            return graph.forward(*tensors)

        return run

    def function(x: Any) -> Any:
        return (x + 1,)

    assert TorchCompiler(slow)(function, [tensor()]) is function
    assert TorchCompiler(slow, is_judged=False)(function, [tensor()]) is not function


# -- torch's own -----------------------------------------------------------------------------------


@pytest.fixture
def inductor() -> None:
    """It is imported: parts of torch warn of each other meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._inductor.compile_fx")


@pytest.mark.slow
def test_a_machine_without_a_compiler_of_c_runs_as_before(
    inductor: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))

    def without(graph: Any, examples: Any) -> Any:
        with torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}):  # of this thread
            return torch._dynamo.lookup_backend("inductor")(graph, examples)

    config = compiled_by(without)
    graph, fetches, feeds = elementwise(1)
    with Session(graph=graph, config=config) as session:
        expected = session.run(fetches, feeds)
        for _ in range(OFTEN + 2):
            for got, value in zip(session.run(fetches, feeds), expected, strict=True):
                np.testing.assert_array_equal(got, value)
            settle_compilers()
    [told] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "InvalidCxxCompiler: No working C++ compiler" in told


@pytest.mark.whole
@pytest.mark.timeout(300)
@pytest.mark.skipif(not shutil.which("g++"), reason="torch compiles with g++")
def test_inductor_compiles(inductor: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    gives_compiled_the_same(1, compiled_by("inductor"))
    assert list(tmp_path.rglob("*.so"))
