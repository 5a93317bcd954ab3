"""``tf.test``: test cases with sessions, and gradients compared with finite differences.

``TestCase`` is a ``unittest`` test case, so any test runner accepts it.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".benchmarks": "TensorFlowBenchmark=Benchmark",
    ".cases": (
        "TestCase assert_equal_graph_def get_temp_dir gpu_device_name is_built_with_cuda "
        "is_built_with_gpu_support is_built_with_rocm is_built_with_xla is_gpu_available main"
    ),
    ".gradients": "compute_gradient compute_gradient_error",
    ".local_clusters": "create_local_cluster",
    "unittest.mock": "*=mock",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
