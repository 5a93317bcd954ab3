"""Virtual devices: programs for many GPUs are placed and run as there, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.extend import CPU_PRIORITY, VirtualDevices, register_device_factory
from tests.default_device import BESIDE

pytestmark = pytest.mark.usefixtures("registrations", "graph")


def types(session: Any) -> list[str]:
    return [device.name.rpartition("device:")[2] for device in session.list_devices()]


def towers(places: list[str]) -> tuple[Any, Any, Any, Any]:
    """A linear model in a tower per place, with one update from the mean of their gradients."""
    x, y = acts.placeholder(acts.float32, [8, 3]), acts.placeholder(acts.float32, [8, 1])
    with acts.device("/cpu:0"):
        w = acts.Variable(np.zeros((3, 1), np.float32), name="w")
    optimiser = acts.train.GradientDescentOptimizer(0.1)
    found = []
    halves = zip(acts.split(x, len(places)), acts.split(y, len(places)), places, strict=True)
    for a, b, place in halves:
        with acts.device(place):
            loss = acts.reduce_mean(acts.square(acts.matmul(a, w) - b), name="loss")
            found.append(optimiser.compute_gradients(loss, [w])[0][0])
    with acts.device("/cpu:0"):
        update = optimiser.apply_gradients([(acts.add_n(found) / float(len(places)), w)])
    return x, y, w, update


def test_a_program_of_two_towers_trains_as_on_one_cpu() -> None:
    register_device_factory("GPU", VirtualDevices(2))
    rng = np.random.default_rng(3)
    a = rng.normal(size=(8, 3)).astype(np.float32)
    b = a @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    trained = []
    for places in (["/gpu:0", "/gpu:1"], ["/cpu:0", "/cpu:0"]):
        with acts.Graph().as_default(), acts.Session() as session:
            x, y, w, update = towers(places)
            session.run(w.initializer)
            for _ in range(20):
                session.run(update, {x: a, y: b})
            trained.append(session.run(w))
            loss = session.placement()["loss_1"].device
            assert loss.rpartition("/device:")[2].lower() == places[1].replace("/", "")
    np.testing.assert_allclose(trained[0], trained[1], rtol=1e-6)
    assert np.abs(trained[0] - [[1.0], [-2.0], [0.5]]).max() < 0.5


def test_sessions_have_as_many_as_registered_unless_counted() -> None:
    register_device_factory("GPU", VirtualDevices(2, memory_limit=1 << 30))
    with acts.Session() as session:
        assert types(session) == ["CPU:0", "GPU:0", "GPU:1", *BESIDE]
        assert session.list_devices()[1].memory_limit == 1 << 30
    with acts.Session(config=acts.ConfigProto(device_count={"GPU": 0})) as session:
        assert types(session) == ["CPU:0", *BESIDE]
    with acts.Session(config=acts.ConfigProto(device_count={"GPU": 5})) as session:
        assert len(types(session)) == 6 + len(BESIDE)


@pytest.mark.parametrize(("priority", "device"), [(None, "CPU:0"), (CPU_PRIORITY + 1, "GPU:0")])
def test_what_has_no_device_goes_to_the_type_of_the_higher_priority(priority: int | None, device: str) -> None:
    register_device_factory("GPU", VirtualDevices(), priority=priority)
    with acts.Session() as session:
        total = acts.random.uniform([]) + 1.0
        session.run(total)
        assert session.placement()[total.op.name].device.endswith(device)


def test_what_they_do_not_run_is_refused_or_goes_to_the_cpu_if_placement_is_soft() -> None:
    register_device_factory("GPU", VirtualDevices(without=["AsString"]))
    with acts.device("/gpu:0"):
        text = acts.strings.as_string(acts.random.uniform([]) * 0.0)
    with acts.Session() as session, pytest.raises(InvalidArgumentError, match="no kernel for"):
        session.run(text)
    with acts.Session(config=acts.ConfigProto(allow_soft_placement=True)) as session:
        assert float(session.run(text)) == 0.0
        assert session.placement()[text.op.name].device.endswith("CPU:0")


def test_fewer_than_none_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more, got -1"):
        VirtualDevices(-1)
