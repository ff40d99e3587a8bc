# SPDX-License-Identifier: Apache-2.0
"""Handlers compiled for a GPU: text in CUDA C++, of one's own or around a function in Python."""

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
    """C++'s type of a scalar that is no struct."""
    found = _SCALARS.get(dtype.str[1:])
    if found is None or not dtype.isnative:
        raise _refuse(what, f"is of {dtype}, which has no type in CUDA C++ here")
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
    """The members of a struct that C++ lays out as the dtype is, its padding spelt out."""
    text, end = "", 0
    for name in dtype.names or ():
        member, offset = dtype.fields[name][:2]  # type: ignore[index]
        inside = f"{what}.{name}"
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise _refuse(inside, "has a name that is none in C++")
        if offset < end or offset % _alignment(member) != 0:
            raise _refuse(inside, f"is at offset {offset}, where C++ has it elsewhere")
        if offset > end:
            text += f"{_BYTES} carillon_padding_{end}[{offset - end}]; "
        text += _member(name, member, inside) + " "
        end = offset + member.itemsize
    if dtype.itemsize % _alignment(dtype) != 0:
        raise _refuse(what, f"has {dtype.itemsize} bytes, where C++ has padding behind")
    if dtype.itemsize > end:
        text += f"{_BYTES} carillon_padding_{end}[{dtype.itemsize - end}];"
    return text.strip()


def _definition(name: str, message: Codec) -> str:
    """What makes `name` a type of that layout in CUDA C++. Raises UsageError for what has none."""
    if isinstance(message, BytesCodec):
        return f"struct {name} {{ {_BYTES} byte[{message.size}]; }};\n"
    dtype: np.dtype[Any] = message.dtype
    if dtype.names is None:
        return f"using {name} = {_scalar(dtype, name)};\n"
    return f"struct {name} {{ {_members(dtype, name)} }};\n"


def _definitions(text: str, request: Codec, reply: Codec) -> str:
    """Those of Request and Reply that the text names and does not define."""
    return "".join(
        _definition(name, message)
        for name, message in (("Request", request), ("Reply", reply))
        if re.search(rf"\b{name}\b", text)
        and not re.search(rf"\b(struct|class|union|enum|using)\s+{name}\b", text)
    )


def _library_of_a_wheel(name: str, variable: str) -> str:
    """A library of one of NVIDIA's Python packages, unless `variable` asks for another one."""
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
    """Machine code of a handler, for GPUs of one compute capability: what compile_handler()
    returns."""

    def __init__(self, code: HandlerCode, request: Codec, reply: Codec) -> None:
        self._code = code
        self._request = request
        self._reply = reply

    def __repr__(self) -> str:
        return f"<carillon.CompiledHandler of {self._request} to {self._reply}>"

    @property
    def compute_capability(self) -> int:
        """As 90."""
        return self._code.compute_capability

    @property
    def threads(self) -> int:
        """Of each block."""
        return self._code.threads

    @property
    def log(self) -> str:
        """What the compiler said beside it: warnings, with the lines of the text."""
        return self._code.log

    @property
    def was_cached(self) -> bool:
        """Whether it was found and not compiled."""
        return self._code.was_cached

    @property
    def machine_code(self) -> bytes:
        """A cubin."""
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
    """Compiles a handler for a GPU and loads it there, before the first kernel is started.

    A text defines `struct Handler` with an operator() from a request to a reply. `Request` and
    `Reply` are structs of the message types' members, unless the text defines them itself. Of
    Python it is a function `handler(request, reply)` that fills the reply, which numba-cuda
    compiles. `device` is a GPU or a compute capability, as 90: then it is loaded by the kernel that
    takes it. `before` is text that goes before, `compiler_options` are NVRTC's; `headers`, `nvrtc`,
    `nvjitlink` and `cache` are looked for where they are empty (docs/python.md).

    Raises CompileError for what does not compile, UsageError for the types, for options that NVRTC
    does not have and while a kernel lives on the GPU, UnsupportedError on the emulated device and
    where there is no NVRTC, for Python no numba-cuda or nvJitLink.
    """
    if not isinstance(device, Device):
        try:
            device = operator.index(device)
        except TypeError:
            wanted = "a Device, or a compute capability, as 90"
            raise _refused(ArgumentTypeError, _CALL, "device", device, wanted) from None
    _require(str, _CALL, "before", before)
    asks, answers = codec(request, _CALL), codec(reply, _CALL)
    lto_ir: list[bytes] = []
    if isinstance(handler, str):
        text = handler
    elif not callable(handler):
        wanted = "text, or a function of a request and a reply"
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
