# SPDX-License-Identifier: Apache-2.0
"""Plain names of what the results files measure."""

import re

ROWS = {
    "raw-flag-near": "lower bound: a bare 4-byte flag each way, as in gdrcopy's pplat, on the near page",
    "raw-flag-far": "a bare flag each way, on the far page",
    "raw-flag-wide": "a bare flag each way, over sixteen pages in a row",
    "pinned-flag": "alternative: flags in pinned memory, polled by hand",
    "line-echo": "48 bytes each way, ring to ring",
    "call-bare": "`call` to a kernel that has no stop and no heartbeat",
    "call": "**`call`**: 48 bytes to a handler, and its reply",
    "call-64-rings": "`call` to a block that watches 64 channels",
    "call-tuned": "`call`, placed by `carillon tune`",
    "launch-sync": "alternative: a launch and `cudaStreamSynchronize`",
    "launch-spin": "alternative: a launch whose kernel writes a flag that the CPU polls",
    "graph-sync": "alternative: `cudaGraphLaunch` and `cudaStreamSynchronize`",
    "stream-write": "alternative: `cuStreamWriteValue32` to a running kernel",
    "call-first-word": "768 bytes each way; the handler reads one word and writes one",
    "call-one-field": "48 bytes; the handler reads one field; 8 bytes back",
    "line-echo-after-sleep": "48 bytes ring to ring, after a sleep",
    "line-echo-after-spin": "48 bytes ring to ring, after spinning",
    "raw-flag-after-sleep": "a bare flag, after a sleep",
    "raw-flag-after-spin": "a bare flag, after spinning",
    "call-after-sleep": "first call after the thread slept",
    "call-after-spin": "first call after the thread watched the clock",
    "call-after-warm": "first call after the thread called `Client::warm()`",
    "channel": "a channel: 16 bytes there, 8 back, 64 outstanding, one by one",
    "channel-batched": "a channel: 128 outstanding, 32 at a time",
    "pool-block": "a pool with one block, 64 outstanding",
    "lines-8p1r-mutex": "8 threads, one ring, batches of 16 under a mutex",
    "lines-8p1r-mutex-single": "8 threads, one ring, one message at a time under a mutex",
    "lines-8p1r-single": "8 threads, one ring, one message at a time",
    "commands-all-sms": "1 thread to a block on each SM, without summing",
    "pinned-polling": "alternative: the GPU polls lines in pinned memory",
    "replies": "from the GPU to 1 thread",
    "bare-stores": "limit: 1 thread that stores lines, without a protocol",
    "bare-stores-8": "limit: 8 threads that store lines, without a protocol",
    "try-push-single": "`try_push`, per message",
    "try-push-batched": "`try_push_n` with 64 messages, per message",
    "store-fence": "limit: a 64-byte store and its fence",
    "idle": "one call at a time",
}
PATTERNS = (
    (r"call-(\d+)/\1", r"call, \1 bytes each way"),
    (r"call-(\d+)/(\d+)", r"call, \1 bytes there, \2 back"),
    (r"call-(\d+)-threads?", r"calls by \1 threads, each with a channel and a block"),
    (r"raw-flag-(\d+)-threads?", r"bare flags by \1 threads, each with a block and a near page"),
    (r"shared-pool-(\d+)-threads?", r"calls by \1 threads, through one `SharedPool`"),
    (r"pool-(\d+)-threads?", r"calls by \1 threads, through one pool"),
    (r"call-(\d+)-slots", r"call through rings of \1 slots"),
    (r"raw-flag-(\d+)-slots", r"a bare flag that walks over \1 lines"),
    (r"lines-(\d+)p1c", r"\1 thread, one ring, batches of 256"),
    (r"lines-(\d+)p1r", r"\1 threads, one ring, batches of 16"),
    (r"lines-(\d+)p(\d+)r", r"\1 threads, a ring each, batches of 256"),
    (r"load-(\d+)", r"calls at \1 % of the highest rate"),
    (r"launch-(\d+)", r"alternative: launches at \1 % of their highest rate"),
)
IPC = {
    "in-process": "the owner calls, without processes",
    "connection": "a client in the owner's process calls",
    "other-process": "a client in another process calls",
    "one-client": "one client process",
    "all-clients": "all client processes at once",
    "alone": "a client, undisturbed",
    "attach": "a client while others attach",
    "exit": "a client while others exit",
    "store-get": "a buffer of 1 MiB to another process, through the store",
    "store-create": "of that: making it",
    "store-write": "of that: writing it",
    "store-seal": "of that: sealing it",
    "store-seal-to-got": "of that: from the beginning of `seal()` until the other process has it",
    "cuda-ipc-get": "alternative: CUDA IPC alone",
    "cuda-ipc-store-get": "alternative: a store with CUDA IPC",
}
PYTHON = {
    "call_cpp_ns": "a call in C++, 48 bytes each way",
    "call_ns": "a call in Python by bytes",
    "call_dtype_ns": "by a NumPy record of six numbers",
    "call_tuple_ns": "by a tuple of six numbers",
    "call_dataclass_ns": "by a dataclass of six numbers",
    "row_256_cpp_ns": "a message of a row of 256, C++",
    "row_256_ns": "a message of a row of 256, Python",
    "row_10000_cpp_ns": "a message of a row of 10 000, C++",
    "row_10000_ns": "a message of a row of 10 000, Python",
    "copy_to_device_ns": "`copy_to_device` of 1 MiB",
    "view_ns": "the same bytes through a NumPy view",
}
# Name and direction of a copy, and its column.
COPIES = (
    ("copy", "to-device", "CPU to GPU: `copy_to_device`"),
    ("memcpy", "to-device", "`memcpy`"),
    ("writer", "to-device", "`DeviceWriter`"),
    ("cuda-memcpy", "to-device", "`cudaMemcpyAsync`"),
    ("reader", "to-host", "GPU to CPU: `DeviceReader`"),
    ("copy", "to-host", "the CPU's loads"),
    ("cuda-memcpy", "to-host", "`cudaMemcpyAsync`"),
)
# The table of README.md: part of the results, row, plain name.
SHORT = (
    ("results", "call", "**Carillon: `call`, 48 bytes each way**"),
    ("users", "call-12/12", "Carillon: `call`, 12 bytes each way"),
    ("users", "call-768/768", "Carillon: `call`, 768 bytes each way"),
    ("users", "pool-8-threads", "Carillon: 8 threads at once that share the blocks of one kernel, each call"),
    ("users", "call-after-sleep", "Carillon: the first call after the thread slept {pause}"),
    (
        "results",
        "raw-flag-near",
        "Lower bound: a bare 4-byte flag each way, no queue and no handler (the method of gdrcopy's pplat, our code)",
    ),
    ("results", "pinned-flag", "Alternative: 4-byte flags in pinned host memory, polled by hand"),
    ("results", "stream-write", "Alternative: `cuStreamWriteValue32` to a running kernel, 4 bytes"),
    ("results", "graph-sync", "Alternative: an empty CUDA graph, launched and waited for"),
    ("results", "launch-sync", "Alternative: an empty kernel, launched and waited for"),
    ("peers", "cudaq-device-call", "Alternative: CUDA-Q Realtime as shipped \\*"),
    ("peers", "cudaq-device-call-spin", "Alternative: CUDA-Q Realtime, its sleeps removed \\*"),
)
HEADLINE = (
    ("launch-sync", "a kernel launch takes"),
    ("graph-sync", "a CUDA graph"),
    ("pinned-flag", "pinned memory polled by hand"),
    ("raw-flag-near", "a bare flag, the lower bound of the bus,"),
)


def plain(name):
    """A row's plain name; None if there is none."""
    if name in ROWS:
        return ROWS[name]
    for pattern, text in PATTERNS:
        match = re.fullmatch(pattern, name)
        if match:
            text = re.sub(r"\b1 (thread|byte)s\b", r"1 \1", match.expand(text))
            return text.replace("1 thread, each", "1 thread,")
    return None
