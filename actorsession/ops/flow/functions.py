"""``Defun``: Python functions as named functions of a graph.

A function that ``Defun`` decorates is called once for each list of argument dtypes and each graph. The
operations that it builds become a function of the graph's library, and each call of it is a node with that
body. Other tensors of the graph that it uses are captured. Operations in it that change state run in each
call, whichever results are used, in the order in which they were built.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.function import CALL, CALLS, CONSTRUCTS, STATEFUL_CALL, FunctionBody, FunctionDef, nodes_inside
from actorsession.graph.function_library import LibraryFunction
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.scopes import entered, scope_of
from actorsession.graph.shape import TensorShape, as_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.flow.calls import call
from actorsession.ops.flow.constructs import ConstructBuilder, as_value
from actorsession.process_bound import ProcessBound

__all__ = ["DefinedFunction", "Defun", "OverloadedFunction", "is_stateful", "with_effects"]

# These ops only read state: they need not run if their results are not used.
_LOOKS = frozenset(
    {
        "ReadVariableOp",
        "VarHandleOp",
        "VarIsInitializedOp",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)

# The functions under construction, outermost first.
_BUILDING: ContextVar[tuple[DefinedFunction, ...]] = ContextVar("actorsession_defuns", default=())


class Defun(ProcessBound):
    """Decorator of a Python function that builds a part of a graph; calls of it become calls in the graph.

    Args:
        *input_types: dtypes of the arguments; without any, those of each call are used.
        func_name: name of the function in the graph; the Python function's if left out.
        grad_func: a defined function of the inputs and the gradients of the outputs that returns the
            gradients of the inputs.
        python_grad_func: a Python function of the call and the gradients of its outputs that returns the
            gradients of its inputs.
        out_names: names of the results, without effect.
        shape_func: a function of the call that returns the static shapes of its outputs.
        **kwargs: other options of TensorFlow, without effect.
    """

    def __init__(
        self,
        *input_types: Any,
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Operation], Sequence[Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._input_types = [as_dtype(dtype) for dtype in input_types]
        self._options: dict[str, Any] = {
            "func_name": func_name,
            "grad_func": grad_func,
            "python_grad_func": python_grad_func,
            "shape_func": shape_func,
        }

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Return the function that is called in place of ``func``.

        Raises:
            ValueError: if ``func`` takes other than positional arguments, or another number of them than
                declared.
        """
        if not callable(func):
            raise ValueError(f"function {func!r:.100} must be callable")
        least, most = _argument_counts(func)
        count = len(self._input_types)
        if not self._input_types and most != 0:
            return OverloadedFunction(func, least, most, self._options)
        if count < least or (most is not None and count > most):
            raise ValueError(f"{_name_of(func)!r} takes {_range(least, most)} arguments; {count} dtypes are given")
        return DefinedFunction(func, self._input_types, **self._options)


def _argument_counts(func: Callable[..., Any]) -> tuple[int, int | None]:
    spec = inspect.getfullargspec(func)
    if spec.varkw or spec.defaults or spec.kwonlyargs:
        raise ValueError(f"functions with defaults or keyword arguments are not supported: {func!r:.100}")
    count = len(spec.args) - inspect.ismethod(func)
    return count, None if spec.varargs else count


def _range(least: int, most: int | None) -> str:
    return f"{least} or more" if most is None else str(least)


def _name_of(func: Callable[..., Any]) -> str:
    name: str = getattr(func, "__name__", type(func).__name__)
    return "lambda" if name == "<lambda>" else name


class DefinedFunction:
    """A Python function with the dtypes of its arguments, defined in each graph that calls it.

    Args:
        func: the Python function.
        input_types: dtypes of its arguments.
        func_name: see ``Defun``.
        grad_func: see ``Defun``.
        python_grad_func: see ``Defun``.
        shape_func: see ``Defun``.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        input_types: Sequence[DType],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        shape_func: Callable[[Operation], Sequence[Any]] | None = None,
    ) -> None:
        self._func = func
        self._input_types = tuple(input_types)
        self._requested_name = func_name or _name_of(func)
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._shape_func = shape_func
        self._known: weakref.WeakKeyDictionary[Graph, list[_Definition]] = weakref.WeakKeyDictionary()

    # -- properties ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The function's name in the default graph; reading it defines the function there if necessary."""
        return self.in_graph(get_default_graph()).name

    @property
    def definition(self) -> FunctionDef:
        """The function's body in the default graph."""
        return self.in_graph(get_default_graph()).definition

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of the default graph that the function captures."""
        return list(self.in_graph(get_default_graph()).captures)

    @property
    def declared_input_types(self) -> tuple[DType, ...]:
        """The dtypes of the arguments."""
        return self._input_types

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """The name and type of each stateful operation of the body."""
        return [
            (node.name, node.op)
            for node in self.definition.nodes
            if node.op not in CONSTRUCTS and lookup(node.op).stateful
        ]

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The Python function that builds the gradient, if there is one."""
        return self._python_grad_func

    @property
    def grad_func_name(self) -> str | None:
        """The name of the defined function that is the gradient, if there is one."""
        return None if self._grad_func is None else self._grad_func.name

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Set the gradient function, for calls that are built from now on.

        Raises:
            ValueError: if there is another gradient function already.
        """
        if self._grad_func is not None and self._grad_func is not grad_func:
            raise ValueError(f"{self._requested_name!r} has a gradient function already")
        self._grad_func = grad_func

    def add_to_graph(self, g: Graph) -> None:
        """Define the function in a graph."""
        self.in_graph(g)

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build a call.

        Args:
            *args: the arguments.
            **kwargs: ``name``, the wanted name of the call.

        Returns:
            The result, a tuple of several, or the operation of a function that returns none.

        Raises:
            ValueError: for another number of arguments, or one of another dtype or an impossible shape.
            RecursionError: if the function is being built, so that it would call itself.
        """
        name = kwargs.pop("name", None)
        if kwargs:
            raise ValueError(f"unknown keyword arguments: {sorted(kwargs)}; there is name")
        graph = graph_of(*args)
        function = self.in_graph(graph)
        inputs = self.converted(args, graph)
        op = call(STATEFUL_CALL if function.stateful else CALL, function, (), inputs, graph, name)
        if graph.shown_prefix:  # such a graph shows elements as TensorFlow does
            op.type = function.name
        return self.results(op)

    def converted(self, args: Sequence[Any], graph: Graph) -> list[Tensor]:
        """Return arguments as tensors of the declared dtypes."""
        types = self._input_types
        if len(args) != len(types):
            raise ValueError(f"{self._requested_name!r}: expected {len(types)} arguments, got {len(args)}")
        return [
            _argument(arg, dtype, f"argument {k} of {self._requested_name!r}", graph)
            for k, (arg, dtype) in enumerate(zip(args, types, strict=True))
        ]

    def results(self, op: Operation) -> Any:
        """Return the results of a call in the form that its caller gets."""
        if self._shape_func is not None:
            for output, shape in zip(op.outputs, self._shape_func(op), strict=False):
                output.set_shape(as_shape(shape))
        if not self._gives(op.graph):
            return op
        return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)

    def _gives(self, graph: Graph) -> bool:
        """Return whether the function returns values; otherwise its only result marks its completion."""
        return any(known.returns for known in self._known.get(graph, ()))

    # -- definitions ---------------------------------------------------------------------------

    def in_graph(self, graph: Graph) -> LibraryFunction:
        """Return the function in the library of a graph, and define it there if necessary."""
        home = scope_of(graph).body
        for known in self._known.get(graph, ()):
            if known.home is None or known.home.encloses(home):
                return known.function
        if self in _BUILDING.get():
            raise RecursionError(
                f"{self._requested_name!r} calls itself: what a graph calls is written out in the place of "
                "the call, so no function can be inside itself; use while_loop"
            )
        token = _BUILDING.set((*_BUILDING.get(), self))
        try:
            definition = self._define(graph, home)
        finally:
            _BUILDING.reset(token)
        graph.library.add(definition.function)
        self._known.setdefault(graph, []).append(definition)
        return definition.function

    def _define(self, graph: Graph, home: FunctionBody | None) -> _Definition:
        name = graph.library.unique_name(self._requested_name)
        # As in a separate graph: the scopes around the first call do not apply to the function.
        around = entered(graph, name=name, devices=(), control=(), colocation=())
        with around, graph.as_default(), ConstructBuilder(graph, name, is_loop=False) as builder:
            body = builder.function()
            with body.building():
                results = self._built(body, graph)
                returns = bool(results)
                results = with_effects(body, results, graph)
            captures = body.captured(results)
            operations = body.needed(results)
            function = LibraryFunction(
                name,
                body.define(results, captures),
                tuple(captures),
                tuple(body.waits_for(results)),
                tuple(sorted(body.tied_to(results))),
                any(is_stateful(op) for op in operations),
                self._gradient(),
            )
        return _Definition(function, home if _inside(captures, graph) else None, returns)

    def _built(self, body: FunctionBody, graph: Graph) -> list[Tensor]:
        names = _parameter_names(self._func, len(self._input_types))
        for dtype, name in zip(self._input_types, names, strict=True):
            attrs = {"dtype": dtype, "shape": TensorShape(None)}
            body.parameters.append(make_one("Placeholder", (), attrs, name, graph))
        returned = self._func(*body.parameters)
        if returned is None:
            return []
        values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        if any(value is None for value in values):
            raise ValueError(f"function {self._requested_name!r} cannot return None among its results")
        return [as_value(value, graph) for value in values]

    def _gradient(self) -> Callable[..., Any] | None:
        if self._python_grad_func is not None:
            return self._python_grad_func
        if self._grad_func is None:
            return None
        return lambda op, *grads: self._grad_func(*op.inputs[CALLS[op.op_def.name] :], *grads)


class _Definition:
    """A function in one graph.

    Args:
        function: the function.
        home: the function body in which it can be called, if it captures tensors of that body.
        returns: whether the function returns anything.
    """

    def __init__(self, function: LibraryFunction, home: FunctionBody | None, returns: bool) -> None:
        self.function = function
        self.home = home
        self.returns = returns


class OverloadedFunction:
    """A Python function that is defined separately for each list of argument dtypes.

    Args:
        func: the Python function.
        least: minimum number of arguments.
        most: maximum number of arguments.
        options: see ``Defun``.
    """

    def __init__(self, func: Callable[..., Any], least: int, most: int | None, options: dict[str, Any]) -> None:
        self._func = func
        self._least = least
        self._most = most
        self._options = options
        self._overloads: dict[tuple[DType, ...], DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """Return the function for arguments of these dtypes.

        Raises:
            ValueError: if it takes another number of arguments.
        """
        key = tuple([as_dtype(dtype) for dtype in input_types])
        if len(key) < self._least or (self._most is not None and len(key) > self._most):
            raise ValueError(
                f"{_name_of(self._func)!r}: expected {_range(self._least, self._most)} arguments, got {len(key)}"
            )
        if key not in self._overloads:
            options = dict(self._options)
            if options["func_name"] is not None:
                options["func_name"] = "_".join([options["func_name"], *[d.name for d in key]])
            self._overloads[key] = DefinedFunction(self._func, key, **options)
        return self._overloads[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build a call; see ``DefinedFunction``."""
        graph = graph_of(*args)
        inputs = [convert_to_tensor(arg, graph=graph) for arg in args]
        return self.instantiate([t.dtype for t in inputs])(*inputs, **kwargs)


Function: TypeAlias = DefinedFunction | OverloadedFunction


# -- helpers -------------------------------------------------------------------------------------


def _parameter_names(func: Callable[..., Any], count: int) -> list[str]:
    spec = inspect.getfullargspec(func)
    own = spec.args[int(inspect.ismethod(func)) :]
    return [*own, *[f"{spec.varargs}_{k}" for k in range(count - len(own))]]


def _argument(value: Any, dtype: DType, what: str, graph: Graph) -> Tensor:
    try:
        return convert_to_tensor(value, dtype, graph=graph)
    except TypeError as exc:
        raise ValueError(f"{what} is of {dtype.name}: {exc}") from exc


def _inside(tensors: Sequence[Tensor], graph: Graph) -> bool:
    """Return whether any tensor belongs to a loop body, branch or function."""
    return any(graph.nodes.construct_of(tensor) is not None for tensor in tensors)


# -- side effects ---------------------------------------------------------------------------------


def with_effects(body: FunctionBody, results: list[Tensor], graph: Graph) -> list[Tensor]:
    """Return the results, available only after every operation that changes state has run."""
    needed = set(body.needed(results))
    forgotten = [op for op in body.operations if op not in needed and _changes_state(op)]
    if not forgotten:
        return results or [as_value(True, graph)]
    with graph.control_dependencies(forgotten):
        if not results:
            return [raw.Identity(as_value(True, graph))]
        return [raw.Identity(result) for result in results]


def _changes_state(op: Operation) -> bool:
    types = [op.type, *[inner.op for inner, _ in nodes_inside(op.plain)]]
    return any(_has_state(name) for name in types if name not in _LOOKS)


def is_stateful(op: Operation) -> bool:
    """Return whether an operation, or anything inside it, has state or effects."""
    return any(map(_has_state, [op.type, *[n.op for n, _ in nodes_inside(op.plain)]]))


def _has_state(op_type: str) -> bool:
    return op_type not in CONSTRUCTS and is_registered(op_type) and lookup(op_type).stateful
