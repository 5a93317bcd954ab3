"""Various operations: index coordinates, fake quantisation, diagonals, numeric checks."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

assorted = Family("assorted")
FAMILIES = [assorted]

for _places in ([0, 5, 23], 7, [24], [[1]]):
    assorted.add(
        f"unravel-{_places}".replace(" ", ""),
        lambda tf, np, places=_places: tf.unravel_index(places, [3, 4, 2]),
    )
assorted.add("unravel-rank", lambda tf, np: tf.unravel_index([1], 3))
assorted.add("unravel-int64", lambda tf, np: tf.unravel_index(np.array([1, 8]), [3, 3]))


def _numbers(tf: Any, np: Any, *shape: int) -> Any:
    return tf.constant(reals(np, shape or (40,), -9, 9))


for _low, _high in ((-6.0, 6.0), (-0.1, 3.3), (1.0, 6.0), (-6.0, -1.0), (0.0, 0.0), (3.0, 1.0)):
    for _bits, _narrow in product((8, 4, 16, 1), (False, True)):
        _what = f"{_low}-{_high}-{_bits}-{_narrow}"
        assorted.add(
            f"fake-quant-args-{_what}",
            lambda tf, np, a=_low, b=_high, bits=_bits, narrow=_narrow: _with_slopes(
                tf, tf.fake_quant_with_min_max_args, [_numbers(tf, np)], a, b, bits, narrow
            ),
        )
        assorted.add(
            f"fake-quant-vars-{_what}",
            lambda tf, np, a=_low, b=_high, bits=_bits, narrow=_narrow: _with_slopes(
                tf,
                tf.fake_quant_with_min_max_vars,
                [_numbers(tf, np), tf.constant(a), tf.constant(b)],
                bits,
                narrow,
            ),
        )


def _with_slopes(tf: Any, function: Any, operands: Any, *rest: Any) -> Any:
    found = function(*operands, *rest)
    return [found, *tf.gradients(found * found, operands)]


for _bits in (8, 3):
    assorted.add(
        f"fake-quant-channels-{_bits}",
        lambda tf, np, bits=_bits: _with_slopes(
            tf,
            tf.fake_quant_with_min_max_vars_per_channel,
            [_numbers(tf, np, 5, 6, 2), tf.constant([-6.0, 0.1]), tf.constant([4.0, 8.0])],
            bits,
        ),
    )
assorted.add(
    "fake-quant-channels-other",
    lambda tf, np: tf.fake_quant_with_min_max_vars_per_channel(
        _numbers(tf, np, 5, 2), [0.0], [1.0]
    ),
)
assorted.add(
    "fake-quant-vector",
    lambda tf, np: tf.fake_quant_with_min_max_vars(_numbers(tf, np), [0.0], [1.0]),
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


for _form in ("compact", "sequence", "shorter", "matrix", "other"):
    _named = "sequence" if _form == "shorter" else _form
    assorted.add(
        f"tridiagonal-solve-{_form}",
        lambda tf, np, form=_form, named=_named: tf.linalg.tridiagonal_solve(
            _three(tf, np, form), _right(tf, np), named
        ),
    )
    if _form != "shorter":
        assorted.add(
            f"tridiagonal-matmul-{_form}",
            lambda tf, np, form=_form: tf.linalg.tridiagonal_matmul(
                _three(tf, np, form), _right(tf, np), form
            ),
        )
for _name in ("tridiagonal_solve", "tridiagonal_matmul"):
    assorted.add(
        f"{_name.replace('_', '-')}-gradient",
        lambda tf, np, name=_name: _slopes_of_diagonals(tf, np, name),
    )
    assorted.add(
        f"{_name.replace('_', '-')}-other-sizes",
        lambda tf, np, name=_name: getattr(tf.linalg, name)(
            _three(tf, np, "compact"), _right(tf, np, 2, 5, 2)
        ),
    )


def _slopes_of_diagonals(tf: Any, np: Any, name: str) -> Any:
    operands = [_three(tf, np, "compact"), _right(tf, np)]
    return tf.gradients(tf.square(getattr(tf.linalg, name)(*operands)), operands)


assorted.add(
    "tridiagonal-solve-vector",
    lambda tf, np: tf.linalg.tridiagonal_solve(_three(tf, np, "compact"), _right(tf, np, 2, 6)),
)
assorted.add(
    "tridiagonal-solve-transposed",
    lambda tf, np: tf.linalg.tridiagonal_solve(
        _three(tf, np, "compact"), _right(tf, np, 2, 2, 6), transpose_rhs=True
    ),
)
assorted.add(
    "tridiagonal-solve-plain",
    lambda tf, np: tf.linalg.tridiagonal_solve(
        _three(tf, np, "compact"), _right(tf, np), partial_pivoting=False
    ),
)
assorted.add(
    "tridiagonal-solve-singular",
    lambda tf, np: tf.linalg.tridiagonal_solve(0 * _three(tf, np, "compact"), _right(tf, np)),
)


for _kind, _overlaps in product(("max", "avg"), (False, True)):
    assorted.add(
        f"fractional-{_kind}-{_overlaps}",
        lambda tf, np, kind=_kind, overlaps=_overlaps: _fractional(tf, np, kind, overlaps),
    )
    assorted.add(
        f"fractional-{_kind}-{_overlaps}-drawn",
        lambda tf, np, kind=_kind, overlaps=_overlaps: Plan(
            list(
                getattr(tf.nn, f"fractional_{kind}_pool")(
                    _numbers(tf, np, 2, 11, 17, 2), [1.0, 1.5, 2.4, 1.0], overlapping=overlaps
                )
            ),
            random=True,
        ),
    )


def _fractional(tf: Any, np: Any, kind: str, overlaps: bool) -> Any:
    """Return a fractional pool whose ratios allow only one choice of regions."""
    x = _numbers(tf, np, 2, 8, 9, 2)
    made = getattr(tf.nn, f"fractional_{kind}_pool")(x, [1.0, 2.0, 3.0, 1.0], overlapping=overlaps)
    return [*made, *tf.gradients(tf.square(made[0]), x)]


assorted.add(
    "fractional-small-ratio",
    lambda tf, np: tf.nn.fractional_max_pool(_numbers(tf, np, 1, 4, 4, 1), [1.0, 0.5, 1.0, 1.0]),
)
assorted.add(
    "fractional-vector", lambda tf, np: tf.nn.fractional_max_pool(_numbers(tf, np), [1.0] * 4)
)


assorted.add(
    "learned-unigram",
    lambda tf, np: Plan(
        list(
            tf.nn.learned_unigram_candidate_sampler(
                np.array([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=9
            )
        ),
        random=True,
    ),
)


@assorted("check-numerics-of-all")
def _checked(tf: Any, np: Any) -> Plan:
    x = tf.placeholder_with_default([1.0, 2.0], [2], name="x")
    y = tf.divide(1.0, x, name="y")
    with tf.control_dependencies([tf.add_check_numerics_ops()]):
        return Plan(tf.identity(y))


@assorted("check-numerics-finds")
def _found(tf: Any, np: Any) -> Plan:
    x = tf.placeholder_with_default([1.0, 0.0], [2], name="x")
    y = tf.divide(1.0, x, name="y")
    with tf.control_dependencies([tf.add_check_numerics_ops()]):
        return Plan(tf.identity(y))


assorted.add(
    "numpy-function",
    lambda tf, np: tf.numpy_function(lambda a, b: a + b, [1.0, tf.constant([2.0])], tf.float32),
)
assorted.add(
    "graph-util",
    lambda tf, np: Plan(
        facts=[
            tf.graph_util.must_run_on_cpu(op, pins)
            for op in (
                tf.constant(1).op,
                tf.constant("a").op,
                tf.constant(1.0).op,
                tf.cast(tf.constant(1), tf.float32).op,
                tf.cast(tf.constant(1.0), tf.int32).op,
                tf.add(1, 2).op,
            )
            for pins in (False, True)
        ]
        + [
            tf.graph_util.tensor_shape_from_node_def_name(
                tf.get_default_graph(), tf.zeros([2, 3], name="z").op.name
            ).as_list()
        ]
    ),
)
