# SPDX-License-Identifier: Apache-2.0
"""Handlers compiled for a GPU: text in CUDA C++, given or made around a function in Python."""

from __future__ import annotations

import glob
import importlib.util
import operator
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._carillon import Device, HandlerCode, _compile_handler
from ._codec import BytesCodec, Codec, codec
from ._handler_python import _CALL, around_python
from .errors import ArgumentTypeError, UsageError, _made, _refused, _require

_SCALARS = {
    "i1": "signed char",
    "i2": "short",
    "i4": "int",
    "i8": "long long",
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned int",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
    "b1": "bool",
}
_BYTES = "unsigned char"


def _refuse(what: str, why: str) -> UsageError:
    return _made(
        UsageError,
        _CALL,
        f"{what} {why}: let the text define the struct itself, or use "
        "numpy.dtype(..., align=True) of integers, floats, bools, bytes and arrays of them",
    )


def _scalar(dtype: np.dtype[Any], what: str) -> str:
    """The C++ type of a scalar that is not a struct."""
    found = _SCALARS.get(dtype.str[1:])
    if found is None or not dtype.isnative:
        raise _refuse(what, f"is of {dtype}, which has no CUDA C++ type here")
    return found


def _member(name: str, dtype: np.dtype[Any], what: str) -> str:
    dtype, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    lengths = "".join(f"[{length}]" for length in shape)
    if dtype.names is not None:
        return f"struct {{ {_members(dtype, what)} }} {name}{lengths};"
    if dtype.kind in "SV":
        return f"{_BYTES} {name}{lengths}[{dtype.itemsize}];"
    return f"{_scalar(dtype, what)} {name}{lengths};"


def _alignment(dtype: np.dtype[Any]) -> int:
    dtype = dtype.subdtype[0] if dtype.subdtype is not None else dtype
    if dtype.names is None:
        return 1 if dtype.kind in "SV" else dtype.itemsize
    return max(_alignment(dtype.fields[name][0]) for name in dtype.names)  # type: ignore[index]


def _members(dtype: np.dtype[Any], what: str) -> str:
    """The members of a C++ struct with the dtype's layout and explicit padding."""
    text, end = "", 0
    for name in dtype.names or ():
        member, offset = dtype.fields[name][:2]  # type: ignore[index]
        inside = f"{what}.{name}"
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise _refuse(inside, "has a name that is not valid in C++")
        if offset < end or offset % _alignment(member) != 0:
            raise _refuse(inside, f"is at offset {offset}, but C++ has it elsewhere")
        if offset > end:
            text += f"{_BYTES} carillon_padding_{end}[{offset - end}]; "
        text += _member(name, member, inside) + " "
        end = offset + member.itemsize
    if dtype.itemsize % _alignment(dtype) != 0:
        raise _refuse(what, f"has {dtype.itemsize} bytes, but C++ adds padding at the end")
    if dtype.itemsize > end:
        text += f"{_BYTES} carillon_padding_{end}[{dtype.itemsize - end}];"
    return text.strip()


def _definition(name: str, message: Codec) -> str:
    """The CUDA C++ definition of `name` with that layout. Raises UsageError if there is none."""
    if isinstance(message, BytesCodec):
        return f"struct {name} {{ {_BYTES} byte[{message.size}]; }};\n"
    dtype: np.dtype[Any] = message.dtype
    if dtype.names is None:
        return f"using {name} = {_scalar(dtype, name)};\n"
    return f"struct {name} {{ {_members(dtype, name)} }};\n"


def _definitions(text: str, request: Codec, reply: Codec) -> str:
    """The definitions of Request and Reply, unless the text defines them."""
    return "".join(
        _definition(name, message)
        for name, message in (("Request", request), ("Reply", reply))
        if re.search(rf"\b{name}\b", text)
        and not re.search(rf"\b(struct|class|union|enum|using)\s+{name}\b", text)
    )


def _library_of_a_wheel(name: str, variable: str) -> str:
    """A library in one of NVIDIA's Python packages, unless `variable` names another one."""
    if os.environ.get(variable):
        return ""
    package = importlib.util.find_spec("nvidia")
    folders = package.submodule_search_locations if package is not None else None
    found = [
        file
        for folder in folders or ()
        for file in glob.glob(os.path.join(folder, "*", "lib", f"{name}.so.*[0-9]"))
    ]
    return max(found, default="", key=lambda file: int(file.rpartition(".")[2]))


class CompiledHandler:
    """A handler's machine code for GPUs of one compute capability. compile_handler()
    returns it."""

    def __init__(self, code: HandlerCode, request: Codec, reply: Codec) -> None:
        self._code = code
        self._request = request
        self._reply = reply

    def __repr__(self) -> str:
        return f"<carillon.CompiledHandler of {self._request} to {self._reply}>"

    @property
    def compute_capability(self) -> int:
        """The compute capability, such as 90."""
        return self._code.compute_capability

    @property
    def threads(self) -> int:
        """The number of threads of each block."""
        return self._code.threads

    @property
    def log(self) -> str:
        """The compiler's warnings, with the lines of the text."""
        return self._code.log

    @property
    def was_cached(self) -> bool:
        """Whether it came from the cache."""
        return self._code.was_cached

    @property
    def machine_code(self) -> bytes:
        """The cubin."""
        return self._code.machine_code


def compile_handler(
    device: Device | int,
    handler: str | Callable[[Any, Any], None],
    *,
    request: Any,
    reply: Any,
    request_name: str = "",
    reply_name: str = "",
    before: str = "",
    include_folders: Sequence[str | os.PathLike[str]] = (),
    compiler_options: Sequence[str] = (),
    headers: str | os.PathLike[str] = "",
    nvrtc: str | os.PathLike[str] = "",
    nvjitlink: str | os.PathLike[str] = "",
    cache: str | os.PathLike[str] = "",
    keep: bool = True,
) -> CompiledHandler:
    """Compiles a handler for a GPU and loads it there. Call it before the first kernel starts.

    The text defines `struct Handler` with an operator() from a request to a reply. `Request` and
    `Reply` are structs of the message types' members, unless the text defines them itself. In
    Python the handler is a function `handler(request, reply)` that fills the reply; numba-cuda
    compiles it. `device` is a GPU, or a compute capability such as 90: the kernel then loads it
    later. `before` is text before the handler, `compiler_options` are NVRTC's; `headers`, `nvrtc`,
    `nvjitlink` and `cache` have defaults (docs/python.md).

    Raises CompileError if it does not compile, UsageError for the types, for options that NVRTC
    rejects and while a kernel runs on the GPU, UnsupportedError on the emulated device and
    without NVRTC, or, for Python, without numba-cuda or nvJitLink.
    """
    if not isinstance(device, Device):
        try:
            device = operator.index(device)
        except TypeError:
            wanted = "a Device or a compute capability such as 90"
            raise _refused(ArgumentTypeError, _CALL, "device", device, wanted) from None
    _require(str, _CALL, "before", before)
    asks, answers = codec(request, _CALL), codec(reply, _CALL)
    lto_ir: list[bytes] = []
    if isinstance(handler, str):
        text = handler
    elif not callable(handler):
        wanted = "text or a function of a request and a reply"
        raise _refused(ArgumentTypeError, _CALL, "handler", handler, wanted)
    else:
        text, lto_ir = around_python(device, handler, asks, answers)
        if nvjitlink == "":
            nvjitlink = _library_of_a_wheel("libnvJitLink", "CARILLON_NVJITLINK")
    code = _compile_handler(
        device,
        text,
        asks.size,
        request_name,
        answers.size,
        reply_name,
        _definitions(text + before, asks, answers) + before,
        include_folders,
        compiler_options,
        headers,
        _library_of_a_wheel("libnvrtc", "CARILLON_NVRTC") if nvrtc == "" else nvrtc,
        cache,
        keep,
        lto_ir,
        nvjitlink,
    )
    return CompiledHandler(code, asks, answers)


__all__ = ["CompiledHandler", "compile_handler"]
