# SPDX-License-Identifier: Apache-2.0
"""The errors of carillon: one class for each of the C++ library's, with the same texts.

The text is "<call>: <cause>". Where Python has a class for what went wrong, the error is one of
those too, so that `except TimeoutError` and `except OSError` find it.
"""

from __future__ import annotations

import builtins


class Error(RuntimeError):
    """The base of all of them."""

    call: str = ""
    """The call that failed: one of the library, of a driver or of the system."""


class UsageError(Error, ValueError):
    """The caller asked for something that makes no sense: a bad argument, a wrong state."""


class ForkError(UsageError):
    """A child that was forked uses what its parent has made."""


class DeviceNotFoundError(Error):
    """The selector names no device of this machine; the text says why each kind is missing."""


class UnsupportedError(Error):
    """What was asked for exists, but this machine, driver or build does not offer it."""


class OutOfMemoryError(Error, MemoryError):
    """The request exceeds the memory there is; the text gives both numbers, in bytes."""


class ResidencyError(Error):
    """More blocks than can be resident at once."""

    asked: int = 0
    """Blocks of the launch."""
    fit: int = 0
    """As many would have had room."""


class TimeoutError(Error, builtins.TimeoutError):
    """A deadline passed. Nothing is lost: what was accepted stays accepted."""

    sent: bool = False
    """Whether a request had been sent: it may still be served, and one sent again served twice."""


class StoppedError(Error):
    """The kernel was stopped, or ended by itself; no command can reach it any more."""


class OwnerGoneError(StoppedError):
    """The process that owns the kernel or the store has ended, or closed the connection."""


class RefusedError(Error):
    """The owner of a kernel, or of a store of buffers, says no."""

    reason: str = "other"
    """Why, in words: "unknown object", "wrong types", "not allowed", "full", "name taken"..."""


class HandlerError(Error):
    """A handler refused a command."""

    code: int = 0
    """What it said."""


class CompileError(Error):
    """A handler does not compile."""

    log: str = ""
    """The compiler's, with the lines of the text."""


class FormatError(Error):
    """A file that is not what it should be."""


class ProtocolError(Error):
    """The other process sent what it may not."""


class CodedError(Error):
    """A library or the system said no."""

    code: int = 0
    """Its number: errno, a CUresult or a VkResult."""
    code_name: str = ""
    """Its name for it."""


class SystemError(CodedError, OSError):
    """The system said no; `code`, and `errno`, are its number."""


class CudaError(CodedError):
    """CUDA's driver said no; `code` is a CUresult."""


class DeviceFaultError(CudaError):
    """What a kernel did broke the CUDA context of this process; a new process can go on."""


class VulkanError(CodedError):
    """Vulkan said no; `code` is a VkResult."""


__all__ = [
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
