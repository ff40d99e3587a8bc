# SPDX-License-Identifier: Apache-2.0
"""Rings of chunks: large buffers that the CPU fills in place and a kernel reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._carillon import BytesChunkEnd, BytesChunkRing, Device, RawChunk
from ._codec import Codec, array_over, codec
from .errors import UsageError, _made, _require


def meta_codec(meta: Any, call: str) -> Codec | None:
    """The codec of each chunk's metadata; None for none."""
    return None if meta is None else codec(meta, call, 40)


class Chunk:
    """A claimed chunk: fill it, then commit() it. Without commit() it is given up."""

    def __init__(self, raw: RawChunk, meta: Codec | None) -> None:
        self._raw = raw
        self._meta = meta

    def __repr__(self) -> str:
        return f"<carillon.Chunk: {self._raw!r}>"

    def array(self, dtype: Any = np.uint8, shape: Sequence[int] | int | None = None) -> np.ndarray:
        """A NumPy array over the chunk, to be written in place; delete it before commit().

        The mapping of a GPU's memory is write-combining: write whole lines, and do not read.
        """
        return array_over("Chunk.array", self._raw, dtype, shape)

    def fill(self, data: Any, offset: int = 0) -> None:
        """Copies a buffer's bytes to byte `offset` on, by whole lines. Raises UsageError."""
        self._raw.fill(data, offset)

    def flush(self) -> None:
        """Makes this thread's writes visible; needed if another thread commits."""
        self._raw.flush()

    def commit(self, used: int | None = None, meta: Any = None) -> None:
        """Hands the first `used` bytes, or all, to the kernel.

        Raises UsageError while arrays of the chunk live, for too many bytes, for a `meta` of
        another type, and after commit().
        """
        self._raw._require_ready()
        if self._meta is not None:
            if meta is None:
                cause = "meta is None, but the ring's chunks have metadata"
                raise _made(UsageError, "Chunk.commit", cause)
            meta = self._meta.encode(meta, "Chunk.commit")
        self._raw.commit(used, b"" if meta is None else meta)

    def drop(self) -> None:
        """Gives the chunk up: no kernel sees it. Raises UsageError while arrays of it live."""
        self._raw.drop()

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._raw.size

    @property
    def sequence(self) -> int:
        """The chunk's number, from 1 in the order of claims."""
        return self._raw.sequence


class TakenChunk(NamedTuple):
    """A chunk that the device's end took on the emulated device: a copy."""

    data: bytes
    meta: Any
    sequence: int


class ChunkRingDeviceEnd:
    """The device's end of a ring of chunks, on the emulated device."""

    def __init__(self, raw: BytesChunkEnd, meta: Codec | None) -> None:
        self._raw = raw
        self._meta = meta

    def __repr__(self) -> str:
        return f"<carillon.ChunkRingDeviceEnd, metadata: {self._meta}>"

    def try_take(self) -> TakenChunk | None:
        """The next chunk, or None."""
        taken = self._raw.try_take()
        if taken is None:
            return None
        data, beside, sequence = taken
        meta = self._meta.decode(beside[: self._meta.size]) if self._meta else None
        return TakenChunk(data, meta, sequence)

    def release(self, chunk: TakenChunk) -> bool:
        """Gives the chunk and all earlier ones back; False if that was done before."""
        _require(TakenChunk, "ChunkRingDeviceEnd.release", "chunk", chunk)
        return self._raw.release(chunk.sequence)


class ChunkRing:
    """The host's end of a ring of chunks.

    `meta`: each chunk's metadata: a dtype, a dataclass or a number of bytes up to 40; None for
    none. `chunk_bytes`: the size of each chunk, under 4 GiB. `chunks`: their number, a power of two
    from 2 to 2^20. One thread at a time claims. Timeouts are in seconds.
    """

    def __init__(
        self, device: Device, meta: Any = None, *, chunk_bytes: int = 65536, chunks: int = 16
    ) -> None:
        self._meta = meta_codec(meta, "ChunkRing")
        size = self._meta.size if self._meta else 0
        self._raw = BytesChunkRing(device, size, chunk_bytes, chunks)

    @classmethod
    def _of(cls, raw: BytesChunkRing, meta: Codec | None) -> ChunkRing:
        ring = cls.__new__(cls)
        ring._meta = meta
        ring._raw = raw
        return ring

    def __repr__(self) -> str:
        return f"<carillon.ChunkRing of {self.chunks} chunks of {self.chunk_bytes} bytes>"

    def claim(self, timeout: float = 1.0) -> Chunk:
        """The next chunk to fill. Raises TimeoutError, StoppedError."""
        return Chunk(self._raw.claim(timeout), self._meta)

    def try_claim(self) -> Chunk | None:
        """The next chunk to fill, or None if the kernel has released none."""
        raw = self._raw.try_claim()
        return None if raw is None else Chunk(raw, self._meta)

    def emulated_end(self) -> ChunkRingDeviceEnd:
        """The device's end, once. Raises UnsupportedError on a GPU, UsageError the second time."""
        return ChunkRingDeviceEnd(self._raw.emulated_end(), self._meta)

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return self._raw.chunks

    @property
    def chunk_bytes(self) -> int:
        """The size of each chunk in bytes."""
        return self._raw.chunk_bytes


__all__ = ["Chunk", "ChunkRing", "ChunkRingDeviceEnd", "TakenChunk"]
