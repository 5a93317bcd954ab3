"""Various functions: what they refuse, numeric checks, and drawn regions.

What operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

assorted = Family("assorted")
FAMILIES = [assorted]


def _numbers(tf: Any, np: Any, *shape: int) -> Any:
    return tf.constant(reals(np, shape or (40,), -9, 9))


_ENDS = {
    f"{low}-{high}-{bits}": (low, high, bits) for low, high, bits in ((-6.0, 6.0, 1), (0.0, 0.0, 8), (3.0, 1.0, 8))
}
assorted.over(
    "fake-quant-args-{ends}", lambda tf, np, ends: tf.fake_quant_with_min_max_args(_numbers(tf, np), *ends), ends=_ENDS
)
assorted.over(
    "fake-quant-vars-{ends}", lambda tf, np, ends: tf.fake_quant_with_min_max_vars(_numbers(tf, np), *ends), ends=_ENDS
)


def _three(tf: Any, np: Any, form: str) -> Any:
    numbers = tf.constant(reals(np, (2, 3, 6), dtype="float64"))
    if form == "compact":
        return numbers
    if form == "sequence":
        return [numbers[:, i] for i in range(3)]
    if form == "shorter":
        return [numbers[:, 0, :5], numbers[:, 1], numbers[:, 2, 1:]]
    return tf.constant(reals(np, (2, 6, 6), dtype="float64"))


def _right(tf: Any, np: Any, *shape: int) -> Any:
    return tf.constant(reals(np, shape or (2, 6, 2), -1, 1, dtype="float64"))


assorted.over(
    "tridiagonal-solve-{form}",
    lambda tf, np, form: tf.linalg.tridiagonal_solve(
        _three(tf, np, form), _right(tf, np), "sequence" if form == "shorter" else form
    ),
    form=("sequence", "shorter", "other"),
)
assorted.over(
    "tridiagonal-matmul-{form}",
    lambda tf, np, form: tf.linalg.tridiagonal_matmul(_three(tf, np, form), _right(tf, np), form),
    form=("sequence", "other"),
)
_TRIDIAGONAL = {name: name.replace("-", "_") for name in ("tridiagonal-solve", "tridiagonal-matmul")}


@assorted("{name}-gradient", name=_TRIDIAGONAL)
def _slopes_of_diagonals(tf: Any, np: Any, name: str) -> Any:
    operands = [_three(tf, np, "compact"), _right(tf, np)]
    return tf.gradients(tf.square(getattr(tf.linalg, name)(*operands)), operands)


assorted.over(
    "{name}-other-sizes",
    lambda tf, np, name: getattr(tf.linalg, name)(_three(tf, np, "compact"), _right(tf, np, 2, 5, 2)),
    name=_TRIDIAGONAL,
)


_POOLS: dict[str, Any] = {"kind": ("max", "avg"), "overlaps": (False, True)}


@assorted("fractional-{kind}-{overlaps}-drawn", **_POOLS)
def _drawn(tf: Any, np: Any, kind: str, overlaps: bool) -> Plan:
    x, ratios = _numbers(tf, np, 2, 11, 17, 2), [1.0, 1.5, 2.4, 1.0]
    pool = getattr(tf.nn, f"fractional_{kind}_pool")
    return Plan(list(pool(x, ratios, overlapping=overlaps)), random=True)


@assorted("learned-unigram")
def _learned(tf: Any, np: Any) -> Plan:
    sample = tf.nn.learned_unigram_candidate_sampler
    drawn = sample(np.array([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=9)
    return Plan(list(drawn), random=True)


assorted.each(
    {
        "unravel-outside": lambda tf, np: tf.unravel_index([24], [3, 4, 2]),
        "unravel-square": lambda tf, np: tf.unravel_index([[1]], [3, 4, 2]),
        "unravel-rank": lambda tf, np: tf.unravel_index([1], 3),
        "unravel-int64": lambda tf, np: tf.unravel_index(np.array([1, 8]), [3, 3]),
        "fake-quant-channels-other": lambda tf, np: tf.fake_quant_with_min_max_vars_per_channel(
            _numbers(tf, np, 5, 2), [0.0], [1.0]
        ),
        "fake-quant-vector": lambda tf, np: tf.fake_quant_with_min_max_vars(_numbers(tf, np), [0.0], [1.0]),
        "fractional-small-ratio": lambda tf, np: tf.nn.fractional_max_pool(
            _numbers(tf, np, 1, 4, 4, 1), [1.0, 0.5, 1.0, 1.0]
        ),
        "fractional-vector": lambda tf, np: tf.nn.fractional_max_pool(_numbers(tf, np), [1.0] * 4),
        "numpy-function": lambda tf, np: tf.numpy_function(lambda a, b: a + b, [1.0, tf.constant([2.0])], tf.float32),
    }
)


@assorted("check-numerics-{first}", first={"of-all": [1.0, 2.0], "finds": [1.0, 0.0]})
def _checked(tf: Any, np: Any, first: Any) -> Plan:
    x = tf.placeholder_with_default(first, [2], name="x")
    y = tf.divide(1.0, x, name="y")
    with tf.control_dependencies([tf.add_check_numerics_ops()]):
        return Plan(tf.identity(y))


@assorted("graph-util")
def _graph_util(tf: Any, np: Any) -> Plan:
    ops = [
        tf.constant(1).op,
        tf.constant("a").op,
        tf.constant(1.0).op,
        tf.cast(tf.constant(1), tf.float32).op,
        tf.cast(tf.constant(1.0), tf.int32).op,
        tf.add(1, 2).op,
    ]
    util, graph = tf.graph_util, tf.get_default_graph()
    zeros = tf.zeros([2, 3], name="z").op.name
    pinned = [util.must_run_on_cpu(op, pins) for op in ops for pins in (False, True)]
    return Plan(facts=[*pinned, util.tensor_shape_from_node_def_name(graph, zeros).as_list()])
