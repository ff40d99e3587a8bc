# SPDX-License-Identifier: Apache-2.0
"""The errors of carillon: one class for each error of the C++ library, and ArgumentTypeError.

The text is "<call>: <cause>", and `call` is the call's name in Python. Errors of a driver or the
system, and errors that ended a kernel, keep the call that failed. If Python has a class for
the error, the error is an instance of it too, so that `except TimeoutError` and `except OSError`
catch it. The extension makes the classes from the library's table of errors.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ._carillon import (
    ArgumentTypeError,
    CodedError,
    CompileError,
    CudaError,
    DeviceFaultError,
    DeviceNotFoundError,
    Error,
    ForkError,
    FormatError,
    HandlerError,
    OutOfMemoryError,
    OwnerGoneError,
    ProtocolError,
    RefusedError,
    ResidencyError,
    StoppedError,
    SystemError,
    TimeoutError,
    UnsupportedError,
    UsageError,
    VulkanError,
)

__all__ = [
    "ArgumentTypeError",
    "CodedError",
    "CompileError",
    "CudaError",
    "DeviceFaultError",
    "DeviceNotFoundError",
    "Error",
    "ForkError",
    "FormatError",
    "HandlerError",
    "OutOfMemoryError",
    "OwnerGoneError",
    "ProtocolError",
    "RefusedError",
    "ResidencyError",
    "StoppedError",
    "SystemError",
    "TimeoutError",
    "UnsupportedError",
    "UsageError",
    "VulkanError",
]

for _name in __all__:  # where programs find them
    globals()[_name].__module__ = __name__

_Made = TypeVar("_Made", bound=Error)


def _made(kind: type[_Made], call: str, cause: str, **members: Any) -> _Made:
    """An error of `call`, with its members."""
    error = kind(f"{call}: {cause}")
    error.call = call
    for name, value in members.items():
        setattr(error, name, value)
    return error


def _refused(
    kind: type[UsageError], call: str, name: str, value: object, wanted: str
) -> UsageError:
    """The extension's error for an argument that it rejects."""
    text = repr(value)
    if len(text) > 80:
        text = text[:80] + "..."
    return _made(kind, call, f"{name} is {text}: expected {wanted}")


def _require(kind: type, call: str, name: str, value: object) -> None:
    if not isinstance(value, kind):
        raise _refused(ArgumentTypeError, call, name, value, f"a {kind.__name__}")
