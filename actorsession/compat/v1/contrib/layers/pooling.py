"""Pooling of images and volumes."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.compat.v1.contrib.layers.building import collect_output, layout_of, pair
from actorsession.graph.graph import name_scope
from actorsession.namespaces import layers, nn

__all__ = ["avg_pool2d", "avg_pool3d", "max_pool2d", "max_pool3d", "pool"]


def _pool(kind: str, spatial: int) -> Any:
    """Return a function that pools over a number of spatial axes."""
    layer_class: Any = getattr(layers, f"{kind}Pooling{spatial}D")
    base = f"{'Max' if kind == 'Max' else 'Avg'}Pool{spatial}D"
    layout = "NHWC" if spatial == 2 else "NDHWC"

    @add_arg_scope
    def pooled(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = layout,
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Any:
        with name_scope(scope or base) as entered:
            layer = layer_class(
                tuple(pair(kernel_size, spatial)),
                tuple(pair(stride, spatial)),
                padding,
                data_format=layout_of(data_format),
            )
            outputs = layer.call(ops.convert_to_tensor(inputs))
            return collect_output(outputs_collections, entered.rstrip("/"), outputs)

    name = f"{'max' if kind == 'Max' else 'avg'}_pool{spatial}d"
    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"Return the inputs pooled over {spatial} axes; see ``tf.layers``."
    return pooled


avg_pool2d = _pool("Average", 2)
avg_pool3d = _pool("Average", 3)
max_pool2d = _pool("Max", 2)
max_pool3d = _pool("Max", 3)


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the inputs pooled over all spatial axes.

    Args:
        inputs: the inputs.
        kernel_size: the size of the window: one number, or one for each spatial axis.
        pooling_type: ``MAX`` or ``AVG``.
        padding: ``SAME`` or ``VALID``.
        data_format: the order of the axes.
        dilation_rate: steps between the elements of a window.
        stride: steps of the window.
        outputs_collections: collections of the outputs.
        scope: the name scope.
    """
    base = f"{pooling_type.lower()}_pool"
    with name_scope(scope or base) as entered:
        value = ops.convert_to_tensor(inputs)
        spatial = len(value.shape) - 2
        outputs = nn.pool(
            value,
            pair(kernel_size, spatial),
            pooling_type,
            padding,
            pair(dilation_rate, spatial),
            pair(stride, spatial),
            data_format=data_format,
        )
        return collect_output(outputs_collections, entered.rstrip("/"), outputs)
