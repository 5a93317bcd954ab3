from __future__ import annotations

import numpy as np
import pytest

from actorsession import ops
from tests.ops.interpreter import evaluate


def test_real_numbers_have_no_imaginary_part() -> None:
    x = ops.constant([1.0, -2.0])
    assert ops.real(x) is x
    imaginary, turned = evaluate([ops.imag(x), ops.angle(x)])
    assert imaginary.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(turned, [0, np.pi], 1e-6)


@pytest.mark.parametrize(("dtype", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_parts_have_half_the_width(dtype: str, part: str) -> None:
    x = ops.cast(ops.constant([3 - 4j]), dtype)
    made = [ops.real(x), ops.imag(x), ops.angle(x), ops.abs(x), abs(x)]
    assert {t.dtype.name for t in made} == {part}
    assert [t.op.type for t in made] == ["Real", "Imag", "Angle", "ComplexAbs", "ComplexAbs"]
    assert ops.complex(made[0], made[1]).dtype.name == dtype
    np.testing.assert_allclose(np.ravel(evaluate(made)[3:]), [5, 5])


def test_parts_of_two_types_or_of_integers_are_refused() -> None:
    single, double = ops.constant(1.0), ops.constant(np.float64(1))
    for a, b in ((single, double), (ops.constant(1), ops.constant(2))):
        with pytest.raises(TypeError, match="two parts"):
            ops.complex(a, b)
    with pytest.raises(TypeError, match="bool"):
        ops.real(ops.constant(True))


def test_an_infinite_part_leaves_the_other_alone() -> None:
    [found] = evaluate([ops.complex(1.0, ops.constant(np.float32(np.inf)))])
    assert (found.real, found.imag) == (1, np.inf)


def test_nothing_flows_back_from_an_absolute_value_of_0() -> None:
    part = ops.constant(0.0)
    [slope] = ops.gradients(abs(ops.complex(part, part)), [part])
    assert evaluate([slope])[0] == 0
