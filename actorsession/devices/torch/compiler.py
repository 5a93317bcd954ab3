"""The compiler of torch's devices, for functions of several kernels: the backends of torch's own.

A function is traced with tensors that have no numbers: what Python does in it happens once, for their shapes, and what
depends on numbers is an error. A backend compiles the graph that comes out. Dynamo has no part in it, so there are no
guards, which would take longer in a step than many a function, and nothing that compiles anew while a step waits.

torch's compiler is imported when something is compiled for the first time, because that takes seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from actorsession.devices.torch.kernels.linear import FOR_ONE_THREAD
from actorsession.devices.torch.loading import torch
from actorsession.devices.torch.threads import USUAL_THREADS, in_one_thread

__all__ = ["TorchCompiler"]

Tensor: TypeAlias = torch.Tensor
Function: TypeAlias = "Callable[..., Sequence[Tensor]]"

# Elements of a tensor that one thread computes in some 0.1 ms.
_FEW = 1 << 18
# Calls that are timed, of which the shortest counts: other threads hold the interpreter lock for 5 ms at a time.
_TIMED = 10


class TorchCompiler:
    """Makes functions of tensors faster (``graph.device_kernels.Compiler``).

    Args:
        backend: what compiles a graph; ``torch.compiler.list_backends(None)`` names all.
        is_judged: whether a function stays as it is if what was made of it is not faster.
    """

    def __init__(self, backend: str = "inductor", *, is_judged: bool = True) -> None:
        self.backend = backend
        self._is_judged = is_judged

    def __call__(self, function: Function, tensors: Sequence[Tensor]) -> Function:
        """Return a faster function for tensors of these shapes and strides, or the function itself."""
        from torch._dynamo.backends.registry import lookup_backend
        from torch._inductor import config
        from torch.fx.experimental.proxy_tensor import make_fx

        examples = [tensor.clone() for tensor in tensors]  # which no step changes meanwhile
        with torch.no_grad():
            graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)
            constants = list(graph.buffers())
            is_small = all(tensor.is_cpu for tensor in tensors) and _is_small(graph.graph.nodes)
            threads = 1 if is_small else USUAL_THREADS
            # With one thread it compiles in this one, and leaves neither threads nor processes.
            with config.patch({"compile_threads": 1, "cpp.threads": threads}):
                compiled = lookup_backend(self.backend)(graph, examples)
                results = compiled(*examples)
            plain = function(*examples)
        faster = _called(
            compiled,
            is_alone=threads < USUAL_THREADS,
            strided=[k for k, t in enumerate(tensors) if t.stride() != examples[k].stride()],
            copied=_copied(results, plain, [*examples, *constants]),
        )
        if self._is_judged and _seconds(faster, examples) >= _seconds(function, examples):
            return function
        return faster


def _called(compiled: Function, *, is_alone: bool, strided: Sequence[int], copied: Sequence[int]) -> Function:
    """Return a compiled function as steps call it.

    Args:
        compiled: the function; it refuses other shapes and strides than those for which it was compiled.
        is_alone: whether one thread computes it, because more would have too little to do.
        strided: positions of arguments that overlap themselves or have gaps, and of which it takes copies.
        copied: positions of results that it returns twice, or that are arguments, where the kernels make new ones.
    """
    call = _alone(compiled) if is_alone else compiled
    if not (strided or copied):
        return call

    def call_with_copies(*tensors: Tensor) -> Sequence[Tensor]:
        given = list(tensors)
        for k in strided:
            given[k] = given[k].clone()
        results = list(call(*given))
        for k in copied:
            results[k] = results[k].clone()
        return results

    return call_with_copies


def _alone(function: Function) -> Function:
    return lambda *tensors: in_one_thread(function, *tensors)


def _is_small(nodes: Iterable[Any]) -> bool:
    """Return whether one thread computes the nodes of a graph as the kernels of products and torch's own would."""
    for node in nodes:
        result = node.meta.get("val")
        for value in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(value, torch.Tensor) and value.numel() > _FEW:
                return False
        name = str(node.target)
        if "convolution" in name:
            return False
        if name.startswith(("aten.mm.", "aten.bmm.", "aten.addmm.", "aten.baddbmm.")):
            inner = node.args[-1].meta["val"].shape[-2]
            if result.numel() * inner > FOR_ONE_THREAD:
                return False
    return True


def _copied(results: Sequence[Tensor], plain: Sequence[Tensor], known: Sequence[Tensor]) -> list[int]:
    """Return which results share memory with earlier ones, or with known tensors, though the plain ones do not."""
    copied: list[int] = []
    for k, (result, other) in enumerate(zip(results, plain, strict=True)):
        earlier = [(results[j], plain[j]) for j in range(k) if j not in copied]
        others = [*earlier, *[(tensor, tensor) for tensor in known]]
        if any(_share(result, mine) and not _share(other, its) for mine, its in others):
            copied.append(k)
    return copied


def _share(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have elements in the same memory."""
    return bool(one.numel()) and bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())


def _seconds(function: Function, tensors: Sequence[Tensor]) -> float:
    """Return how long the shortest of some calls takes."""
    on_gpu = any(tensor.is_cuda for tensor in tensors)
    least = float("inf")
    for _ in range(_TIMED):
        began = time.perf_counter()
        function(*tensors)
        if on_gpu:
            torch.cuda.synchronize()
        least = min(least, time.perf_counter() - began)
    return least
