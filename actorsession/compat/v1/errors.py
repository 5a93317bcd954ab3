"""``tf.errors``: the classes of ``actorsession.errors``, and the numbers of their codes."""

from __future__ import annotations

from actorsession import errors
from actorsession.errors import *  # noqa: F403 - its __all__ is the list
from actorsession.errors import OpError

__all__ = [
    "ABORTED", "ALREADY_EXISTS", "CANCELLED", "DATA_LOSS", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION",
    "INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "OK", "OUT_OF_RANGE", "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNAVAILABLE", "UNIMPLEMENTED", "UNKNOWN",
    "error_code_from_exception_type", "exception_type_from_error_code", *errors.__all__,
]  # fmt: skip

OK = 0
CANCELLED = errors.CancelledError.error_code
UNKNOWN = errors.UnknownError.error_code
INVALID_ARGUMENT = errors.InvalidArgumentError.error_code
DEADLINE_EXCEEDED = errors.DeadlineExceededError.error_code
NOT_FOUND = errors.NotFoundError.error_code
ALREADY_EXISTS = errors.AlreadyExistsError.error_code
PERMISSION_DENIED = errors.PermissionDeniedError.error_code
RESOURCE_EXHAUSTED = errors.ResourceExhaustedError.error_code
FAILED_PRECONDITION = errors.FailedPreconditionError.error_code
ABORTED = errors.AbortedError.error_code
OUT_OF_RANGE = errors.OutOfRangeError.error_code
UNIMPLEMENTED = errors.UnimplementedError.error_code
INTERNAL = errors.InternalError.error_code
UNAVAILABLE = errors.UnavailableError.error_code
DATA_LOSS = errors.DataLossError.error_code
UNAUTHENTICATED = errors.UnauthenticatedError.error_code

# Each direct subclass in this library has its own code; their subclasses, and those of users, share one.
_BY_CODE = {kind.error_code: kind for kind in OpError.__subclasses__() if kind.__module__ == errors.__name__}


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return the code of an error class; ``UNKNOWN`` for any other class."""
    return cls.error_code if issubclass(cls, OpError) else UNKNOWN


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class of a code.

    Raises:
        KeyError: for a code that no error class has.
    """
    return _BY_CODE[error_code]
