# SPDX-License-Identifier: Apache-2.0
"""Handlers in Python that fill their reply in place, one function for every device."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ._carillon import Device
from ._codec import Codec, OfScalar, _refused, checked, cleared, gaps_of
from .errors import CompileError, UnsupportedError, UsageError, _made

_NAME = "carillon_python_handler"  # of the function, in LTO-IR
_CALL = "compile_handler"


def fills_reply(handler: Any) -> bool:
    """Whether the handler takes a request and a reply, rather than a request alone."""
    try:
        parameters = inspect.signature(getattr(handler, "py_func", handler)).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.default is each.empty
    ]
    return len(needed) == 2


def record_dtype(call: str, name: str, message: Codec) -> np.dtype[Any]:
    """The dtype with the message's members. Raises UsageError if the message type has none."""
    dtype: np.dtype[Any] | None = getattr(message, "dtype", None)
    if dtype is None or dtype.names is None:
        raise _made(
            UsageError,
            call,
            f"{name} has no members: handler(request, reply) needs a structured dtype or a "
            "dataclass",
        )
    return dtype


class Members(np.ndarray):
    """An array that is a member: it stores values unchanged. Results of computations with it are
    plain NumPy objects."""

    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return array if array is self else np.asarray(array)[()]

    def __getitem__(self, index: Any) -> Any:
        return _reached(super().__getitem__(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, str):  # that member of each
            self[index][...] = value
            return
        super().__setitem__(index, _each_checked(self.dtype, value))

    def fill(self, value: Any) -> None:
        self[...] = value


def _reached(value: Any) -> Any:
    """A member, which gives access to its own members."""
    if isinstance(value, np.void) and value.dtype.names:
        return Record(value)
    return value.view(Members) if isinstance(value, np.ndarray) else value


def _elements(array: np.ndarray) -> Any:
    """The elements as values. tolist() drops the units of times and the names of records."""
    if array.dtype.kind not in "mM" and array.dtype.names is None:
        return array.tolist()
    return list(array) if array.ndim else array[()]


def _each_checked(dtype: np.dtype[Any], value: Any) -> Any:
    """The value; `dtype` can hold each element unchanged. Raises UsageError."""
    if isinstance(value, np.ma.MaskedArray):
        return checked(dtype, value, "an element")  # which refuses it
    if isinstance(value, np.ndarray) and value.dtype != dtype:
        value = _elements(value)
    if isinstance(value, list) or (isinstance(value, tuple) and dtype.names is None):
        return [_each_checked(dtype, each) for each in value]
    return value if isinstance(value, np.ndarray) else checked(dtype, value, "an element")


class Record(OfScalar):
    """A NumPy scalar as Numba has it: its members are attributes, even if
    NumPy's scalars have an attribute of that name."""

    __slots__ = ()

    def __init__(self, scalar: Any) -> None:
        object.__setattr__(self, "_scalar", scalar)

    def __reduce__(self) -> Any:  # for copy and pickle
        return _record_of, (np.array([self._scalar], self._scalar.dtype),)

    def __eq__(self, other: object) -> bool:
        given = other._scalar if isinstance(other, Record) else other
        if not isinstance(given, np.void) or given.dtype != self._scalar.dtype:
            return NotImplemented
        return bool(self._scalar == given)

    def __repr__(self) -> str:
        return repr(self._scalar)

    def __getitem__(self, member: str) -> Any:
        return _reached(self._scalar[member])

    def __setitem__(self, member: str, value: Any) -> None:
        dtype = self._scalar.dtype.fields[member][0]
        self._scalar[member] = checked(dtype, value, member)

    def __getattr__(self, member: str) -> Any:
        self._require(member)
        return self[member]

    def __setattr__(self, member: str, value: Any) -> None:
        self._require(member)
        self[member] = value

    def _require(self, member: str) -> None:
        if member not in self._scalar.dtype.names:
            raise AttributeError(f"a message of {self._scalar.dtype} has no member {member!r}")


def _record_of(array: np.ndarray) -> Record:
    """The record of an array of one: a scalar with its own bytes takes no assignments."""
    return Record(array[0])


def fill_by_bytes(
    handler: Callable[[Any, Any], None], request: Codec, reply: Codec
) -> Callable[[bytes], bytes]:
    """Calls the handler with each request; returns the reply. Raises UsageError for the types."""
    asked = record_dtype("PersistentKernel", "Request", request)
    answered = record_dtype("PersistentKernel", "Reply", reply)
    function = getattr(handler, "py_func", handler)  # of one that Numba has compiled
    gaps = gaps_of(answered)  # which a record that is put into the reply may have filled

    def fill(data: bytes) -> bytes:
        room = np.zeros(1, answered)
        said = function(Record(np.frombuffer(data, asked)[0]), Record(room[0]))
        if said is not None:
            raise _refused(
                UsageError,
                "the handler's result",
                said,
                "None, since handler(request, reply) fills its reply",
            )
        return cleared(room.tobytes(), answered.itemsize, gaps)

    return fill


def _numba_type(name: str, message: Codec) -> Any:
    """Numba's type, with C's alignment if the members lie so."""
    from numba import from_dtype

    dtype = record_dtype(_CALL, name, message)
    members: dict[str, Any] = dict(dtype.fields or {})
    layout: Any = {
        "names": list(members),
        "formats": [member[0] for member in members.values()],
        "offsets": [member[1] for member in members.values()],
        "itemsize": dtype.itemsize,
    }
    try:
        return from_dtype(np.dtype(layout, align=True))
    except ValueError:
        return from_dtype(np.dtype(layout))


def _nothing(request: Any, reply: Any) -> None:
    """A function that Numba compiles unless it does not work at all."""


def _compiled(handler: Callable[[Any, Any], None], types: list[Any], capability: int) -> bytes:
    from numba import cuda
    from numba import types as of

    code, _ = cuda.compile(
        handler,
        of.void(*types),
        device=True,
        abi="c",
        abi_info={"abi_name": _NAME},
        output="ltoir",
        cc=divmod(capability, 10),
    )
    return bytes(code)


def _lto_ir_of(
    handler: Callable[[Any, Any], None], request: Codec, reply: Codec, compute_capability: int
) -> bytes:
    """The handler compiled by numba-cuda, for nvJitLink.

    Raises CompileError with Numba's text, UsageError if it takes no reply and for the message
    types, UnsupportedError if numba-cuda is missing or compiles nothing: without
    NVVM, or with an unsupported NumPy.
    """
    if not fills_reply(handler):
        raise _made(
            UsageError,
            _CALL,
            f"{handler!r} does not take two parameters: a handler in Python for a GPU is "
            "handler(request, reply) and fills the reply",
        )
    try:
        import numba_cuda  # noqa: F401
    except ImportError as error:
        raise _made(
            UnsupportedError,
            _CALL,
            f"handlers in Python for a GPU need numba-cuda: pip install numba-cuda ({error})",
        ) from error
    types = [_numba_type("Request", request), _numba_type("Reply", reply)]
    try:
        return _compiled(getattr(handler, "py_func", handler), types, compute_capability)
    except Exception as error:  # Numba's own, and KeyError for a member that is not there
        try:
            _compiled(_nothing, types, compute_capability)
        except Exception as why:
            raise _made(
                UnsupportedError,
                _CALL,
                f"numba-cuda cannot compile here: {type(why).__name__}: {why}",
            ) from why
        raise _compile_error(f"{type(error).__name__}: {error}") from error


def _compile_error(log: str) -> CompileError:
    return _made(CompileError, _CALL, f"the handler does not compile:\n{log}", log=log)


_CALLS_PYTHON = f"""
extern "C" __device__ void* {_NAME}(Request const*, Reply*);
struct Handler {{
    Reply operator()(Request const& request) {{
        Reply reply{{}};
        {_NAME}(&request, &reply);
        return reply;
    }}
}};
"""


def around_python(
    device: Device | int, handler: Callable[[Any, Any], None], request: Codec, reply: Codec
) -> tuple[str, list[bytes]]:
    """The text around a function in Python, and the function compiled by numba-cuda.

    Raises as compile_handler().
    """
    capability = device if isinstance(device, int) else device.info.compute_capability
    if capability is None:
        raise _made(
            UnsupportedError,
            _CALL,
            "the device is emulated: it calls Python functions without compiling them",
        )
    return _CALLS_PYTHON, [_lto_ir_of(handler, request, reply, capability)]
