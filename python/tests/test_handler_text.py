# SPDX-License-Identifier: Apache-2.0
"""Handlers as text: what they are compiled to, and on a GPU the kernels that they make."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Annotated, Any

import numpy as np
import pytest

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("mid", "<f8"), ("count", "<u8")])
REPRICE = """
struct Handler {
    unsigned long long count = 0;
    Reply operator()(Request const& tick) { return {(tick.bid + tick.ask) / 2, ++count}; }
};
"""


@pytest.fixture
def nvrtc(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        carillon.compile_handler(90, "#error no text", request=1, reply=1)
    except carillon.UnsupportedError as error:
        pytest.skip(str(error))
    except carillon.CompileError:
        pass


def test_compiles_for_a_gpu_that_is_not_here(nvrtc: None) -> None:
    handler = carillon.compile_handler(90, REPRICE, request=TICK, reply=QUOTE)
    assert handler.compute_capability == 90 and handler.threads == 1 and handler.log == ""
    assert handler.machine_code.startswith(b"\x7fELF")
    again = carillon.compile_handler(90, REPRICE, request=TICK, reply=QUOTE)
    assert again.was_cached and again.machine_code == handler.machine_code


@pytest.mark.parametrize("way", ["folder", "option", "absolute", "spliced", "beside", "has"])
def test_what_is_included_is_not_taken_for_known(
    nvrtc: None, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    header = tmp_path / "mine" / "add.h"
    header.parent.mkdir()
    name = {"absolute": f'"{header}"', "beside": '"add.h"'}.get(way, "<add.h>")
    include = {"spliced": "#\\\ninc\\\nlude"}.get(way, "#include")
    monkeypatch.chdir(header.parent)
    options: dict[str, Any] = {"compiler_options": [f"-I{header.parent}"]}
    if way in ("absolute", "beside"):
        options = {}
    if way == "folder":
        options = {"include_folders": [header.parent]}
    text = f"""{include} {name}
    struct Handler {{ Reply operator()(Request asked) {{ return asked + ADD; }} }};"""
    if way == "has":
        text = f"""
        #if __has_include("{header}")
        #define ADD 2
        #else
        #define ADD 1
        #endif
        struct Handler {{ Reply operator()(Request asked) {{ return asked + ADD; }} }};"""
        options = {}

    def compiled() -> carillon.CompiledHandler:
        return carillon.compile_handler(90, text, request="<i4", reply="<i4", **options)

    if way != "has":
        header.write_text("#define ADD 1\n")
    first = compiled()
    header.write_text("#define ADD 2\n")
    second = compiled()
    assert not second.was_cached and second.machine_code != first.machine_code


def test_what_the_library_has_is_kept(nvrtc: None) -> None:
    text = "#include <cstdint>\n # include <carillon/commands.hpp>\n" + REPRICE
    options: dict[str, Any] = {"compiler_options": ["--use_fast_math", "-DX=1"]}
    for cached in (False, True):
        handler = carillon.compile_handler(90, text, request=TICK, reply=QUOTE, **options)
        assert handler.was_cached == cached


def test_texts_and_options_that_are_none(nvrtc: None) -> None:
    def refused(match: str, text: str = REPRICE, **options: Any) -> None:
        with pytest.raises(carillon.UsageError, match=match) as caught:
            carillon.compile_handler(90, text, request=TICK, reply=QUOTE, **options)
        assert caught.value.call == "compile_handler"

    refused("the handler's text contains a byte 0", REPRICE + "\0")
    refused("the text before the handler contains a byte 0", before="\0")
    refused("a compiler option contains a byte 0", compiler_options=["-DX\0"])
    refused("rejects these compiler options.*nonsense", compiler_options=["--nonsense"])


def test_errors_have_the_lines_of_the_text(nvrtc: None) -> None:
    with pytest.raises(carillon.CompileError, match="does not compile") as caught:
        carillon.compile_handler(
            90,
            "struct Handler {\n  Reply operator()(Request r) { return r.bit; }\n};",
            request=TICK,
            reply=QUOTE,
        )
    assert "handler(2): error" in caught.value.log and "bit" in caught.value.log
    assert caught.value.call == "compile_handler"
    with pytest.raises(carillon.CompileError, match="differs from the declared one"):
        carillon.compile_handler(
            90, "struct Request { int a; };" + REPRICE, request=TICK, reply=QUOTE
        )
    with pytest.raises(carillon.CompileError, match="Handler"):
        carillon.compile_handler(90, "", request=TICK, reply=QUOTE)


ALL = np.dtype(
    [
        ("a", "i1"),
        ("b", "<i8"),
        ("c", "<f4", (2, 3)),
        ("name", "S5"),
        ("inner", np.dtype([("x", "<u2"), ("y", "<f8")], align=True)),
        ("last", "?"),
    ],
    align=True,
)


@dataclasses.dataclass
class Order:
    price: float
    size: Annotated[int, "u4"]
    buy: bool


def offset_of(dtype: np.dtype[Any], name: str) -> int:
    assert dtype.fields is not None
    return int(dtype.fields[name][1])


def test_structs_are_laid_out_as_the_dtypes(nvrtc: None) -> None:
    text = "".join(
        f"static_assert(offsetof(Request, {name}) == {offset_of(ALL, name)});"
        for name in ALL.names or ()
    )
    text += f"static_assert(sizeof(Request) == {ALL.itemsize});"
    text += """
    static_assert(sizeof(Request::c) == 24 && sizeof(Request::name) == 5);
    static_assert(offsetof(Request, inner.y) - offsetof(Request, inner) == 8);
    static_assert(sizeof(Reply) == 16 && offsetof(Reply, size) == 8 && offsetof(Reply, buy) == 12);
    struct Handler {
        Reply operator()(Request const& all) { return {all.c[1][2], all.inner.x, all.last}; }
    };
    """
    assert carillon.compile_handler(75, text, request=ALL, reply=Order).log == ""


def test_layouts_that_no_struct_has_are_refused() -> None:
    def refused(request: Any, match: str) -> None:
        with pytest.raises(carillon.UsageError, match=match):
            carillon.compile_handler(90, REPRICE, request=request, reply=QUOTE)

    refused([("a", "u1"), ("b", "<f8")], "Request.b is at offset 1, but C")
    refused([("b", "<f8"), ("a", "u1")], "Request has 9 bytes, but C")
    refused([("a", ">f8")], "Request.a is of >f8, which has no CUDA")
    refused([("a", "<f2")], "Request.a is of float16, which has no CUDA")
    refused([("a b", "<f8")], "Request.a b has a name that is not valid")
    refused({"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [4, 0]}, "Request.b is at")


def test_no_compiler_says_what_to_install() -> None:
    with pytest.raises(carillon.UnsupportedError, match="nvidia-cuda-nvrtc"):
        carillon.compile_handler(90, REPRICE, request=TICK, reply=QUOTE, nvrtc="/nowhere.so")


def test_emulated_device_takes_no_text(device: carillon.Device) -> None:
    with pytest.raises(carillon.UnsupportedError, match="the device is emulated"):
        carillon.PersistentKernel(device, REPRICE, request=TICK, reply=QUOTE)
    with pytest.raises(carillon.UsageError, match="request or reply is None"):
        carillon.PersistentKernel(device, REPRICE)


def test_kernel_on_a_gpu_cuda0(nvrtc: None, gpu: carillon.Device) -> None:
    with carillon.PersistentKernel(gpu, REPRICE, request=TICK, reply=QUOTE) as kernel:
        client = kernel.client()
        for i in range(10_000):
            quote = client.call((i, i + 2.0))
            assert quote["mid"] == i + 1 and quote["count"] == i + 1
        ticks = np.zeros(1000, TICK)
        ticks["bid"] = ticks["ask"] = np.arange(1000)
        assert np.array_equal(client.call_many(ticks)["mid"], np.arange(1000))
        kernel.drain()
        assert kernel.state == "stopped"


def test_two_kernels_on_a_gpu_cuda0(
    nvrtc: None, gpu: carillon.Device, tmp_path: pathlib.Path
) -> None:
    add = carillon.compile_handler(
        gpu,
        "struct Handler { Reply operator()(Request r) { return r + 1; } };",
        request="<i4",
        reply="<i4",
    )
    reprice = carillon.compile_handler(gpu, REPRICE, request=TICK, reply=QUOTE)
    with (
        carillon.PersistentKernel(gpu, add) as first,
        carillon.PersistentKernel(gpu, reprice, shared=True) as second,
        second.serve(tmp_path / "socket"),
        carillon.connect(str(tmp_path / "socket")) as owner,
    ):
        assert first.client().call(np.int32(6)) == 7
        assert owner.client(TICK, QUOTE).call((1.0, 3.0))["mid"] == 2.0
        with pytest.raises(carillon.UsageError, match="compile handlers before"):
            carillon.compile_handler(gpu, REPRICE + " ", request=TICK, reply=QUOTE)
