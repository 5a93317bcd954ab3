"""Partial runs and devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

partial = Family("partial-runs")
devices = Family("devices")
FAMILIES = [partial, devices]

# --- partial runs


def _three(tf: Any) -> tuple[Any, Any, Any, Any, Any]:
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    first = a + b
    return a, b, c, first, first * c


@partial("two-halves")
def _halves(tf: Any, np: Any) -> Plan:
    a, b, c, first, second = _three(tf)

    def drive(session: Any) -> Any:
        handle = session.partial_run_setup([first, second], [a, b, c])
        return [
            lambda: session.partial_run(handle, first, {a: 1, b: 2}),
            lambda: session.partial_run(handle, second, {c: 10}),
        ]

    return Plan(drive=drive)


_PARTIAL: dict[str, Callable[[Any, Any, list[Any]], list[Callable[[], Any]]]] = {
    "feed-twice": lambda s, h, t: [
        lambda: s.partial_run(h, t[3], {t[0]: 1, t[1]: 2}),
        lambda: s.partial_run(h, t[4], {t[0]: 1, t[2]: 2}),
    ],
    "fetch-twice": lambda s, h, t: [lambda: s.partial_run(h, t[3], {t[0]: 1, t[1]: 2}), lambda: s.partial_run(h, t[3])],
    "too-early": lambda s, h, t: [lambda: s.partial_run(h, t[4], {t[0]: 1, t[1]: 2})],
    "feed-only": lambda s, h, t: [
        lambda: s.partial_run(h, [], {t[0]: 1, t[1]: 2}),
        lambda: s.partial_run(h, [t[3], t[4]], {t[2]: 3}),
    ],
    "all-at-once": lambda s, h, t: [lambda: s.partial_run(h, [t[4], t[3]], {t[0]: 1, t[1]: 2, t[2]: 3})],
    "unknown-feed": lambda s, h, t: [lambda: s.partial_run(h, t[3], {t[3]: 1.0})],
    "unknown-fetch": lambda s, h, t: [lambda: s.partial_run(h, t[2], {t[0]: 1})],
    "no-feed": lambda s, h, t: [lambda: s.partial_run(h, t[3])],
    "wrong-shape": lambda s, h, t: [lambda: s.partial_run(h, t[3], {t[0]: [1], t[1]: 2})],
    "wrong-handle": lambda s, h, t: [lambda: s.partial_run("nothing", t[3], {t[0]: 1, t[1]: 2})],
    "after-the-end": lambda s, h, t: [
        lambda: s.partial_run(h, [t[4], t[3]], {t[0]: 1, t[1]: 2, t[2]: 3}),
        lambda: s.partial_run(h, t[3]),
    ],
    "structure": lambda s, h, t: [lambda: s.partial_run(h, {"x": [t[3]]}, {t[0]: 1, t[1]: 2})],
}


@partial("{runs}", runs=_PARTIAL)
def _partly(tf: Any, np: Any, runs: Any) -> Plan:
    all_of_it = list(_three(tf))

    def drive(session: Any) -> Any:
        handle = session.partial_run_setup(all_of_it[3:], all_of_it[:3])
        return runs(session, handle, all_of_it)

    return Plan(drive=drive)


@partial("nothing-to-fetch")
def _no_fetch(tf: Any, np: Any) -> Plan:
    a, *_ = _three(tf)
    return Plan(drive=lambda session: [lambda: bool(session.partial_run_setup([], [a]))])


# --- devices

for _device in (
    "/cpu:0",
    "/device:CPU:0",
    "/job:localhost",
    "/job:localhost/task:0/cpu:0",
    "/gpu:0",
    "/cpu:7",
    "/job:worker/task:3",
    "cpu",
    "/foo:0",
    "/cpu:x",
    "",
    "/replica:0/task:0",
    "/cpu:*",
    "//cpu:0",
):

    def _placed(tf: Any, np: Any, device: str = _device) -> Plan:
        with tf.device(device):
            a = tf.constant([1.0, 2.0])
            b = a + 1
        return Plan(steps=[Step(b)], facts=[a.device, b.op.device])

    devices.add(f"string-{_device or 'empty'}", _placed)

    def _parsed(tf: Any, np: Any, device: str = _device) -> Plan:
        spec = tf.DeviceSpec.from_string(device)
        return Plan(facts=[spec.to_string(), spec.job, spec.replica, spec.task, spec.device_type, spec.device_index])

    devices.add(f"spec-{_device or 'empty'}", _parsed)


@devices("nested")
def _nested_devices(tf: Any, np: Any) -> Plan:
    found = []
    with tf.device("/job:ps/task:1"):
        found.append(tf.constant(1).device)
        with tf.device("/cpu:0"):
            found.append(tf.constant(1).device)
            with tf.device("/task:2"):
                found.append(tf.constant(1).device)
            with tf.device(None):
                found.append(tf.constant(1).device)
    return Plan(facts=found)


@devices("function")
def _device_function(tf: Any, np: Any) -> Plan:
    with tf.device(lambda op: "/device:CPU:0" if op.type == "Const" else "/job:localhost"):
        a = tf.constant(1)
        return Plan(facts=[a.device, (a + 1).device])


@devices("colocated")
def _colocated(tf: Any, np: Any) -> Plan:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.colocate_with(a):
        b = tf.constant(2, name="b")
    return Plan([b], facts=[b.device, [group.decode() for group in b.op.colocation_groups()]])


@devices("replica-setter")
def _setter(tf: Any, np: Any) -> Plan:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        made = [tf.Variable(float(i), name=f"v{i}") for i in range(3)]
        total = made[0] + made[1]
    return Plan(facts=[*[v.device for v in made], total.device], initialize=False)
