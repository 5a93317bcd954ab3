# Written by scripts/generated.py.
"""``tf.test``: test cases with sessions, and gradients compared with finite differences.

``TestCase`` is a ``unittest`` test case, so any test runner accepts it.
"""

from actorsession.compat.v1.test.benchmarks import TensorFlowBenchmark as Benchmark
from actorsession.compat.v1.test.cases import (
TestCase as TestCase, assert_equal_graph_def as assert_equal_graph_def, get_temp_dir as
get_temp_dir, gpu_device_name as gpu_device_name, is_built_with_cuda as is_built_with_cuda,
is_built_with_gpu_support as is_built_with_gpu_support, is_built_with_rocm as is_built_with_rocm,
is_built_with_xla as is_built_with_xla, is_gpu_available as is_gpu_available, main as main
)
from actorsession.compat.v1.test.gradients import (
compute_gradient as compute_gradient, compute_gradient_error as compute_gradient_error
)
from actorsession.compat.v1.test.local_clusters import create_local_cluster as create_local_cluster
from unittest import mock as mock


__all__ = [
"Benchmark", "TestCase", "assert_equal_graph_def", "compute_gradient", "compute_gradient_error",
"create_local_cluster", "get_temp_dir", "gpu_device_name", "is_built_with_cuda",
"is_built_with_gpu_support", "is_built_with_rocm", "is_built_with_xla", "is_gpu_available", "main",
"mock"
]
