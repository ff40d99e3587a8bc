// SPDX-License-Identifier: Apache-2.0
#include "carillon/handler_text.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "gil.hpp"
#include "py_door.hpp"

namespace carillon::python {
namespace {

using Path = std::filesystem::path;

HandlerOptions handler_options(std::string before, std::vector<Path> const& include_folders,
                               std::vector<std::string> compiler_options, Path const& headers,
                               Path const& nvrtc, Path const& cache, bool keep,
                               std::vector<nb::bytes> const& lto_ir, Path const& nvjitlink) {
    HandlerOptions options;
    options.before = std::move(before);
    options.include_folders = include_folders;
    options.compiler_options = std::move(compiler_options);
    options.headers = headers;
    options.nvrtc = nvrtc;
    options.cache = cache;
    options.keep = keep;
    for (nb::bytes const& each : lto_ir) options.lto_ir.emplace_back(each.c_str(), each.size());
    options.nvjitlink = nvjitlink;
    return options;
}

// `device`: a Device, or a compute capability.
CompiledHandler compile(nb::handle device, std::string const& text, std::uint32_t request_bytes,
                        std::string const& request_name, std::uint32_t reply_bytes,
                        std::string const& reply_name, std::string const& before,
                        std::vector<Path> const& include_folders,
                        std::vector<std::string> const& compiler_options, Path const& headers,
                        Path const& nvrtc, Path const& cache, bool keep,
                        std::vector<nb::bytes> const& lto_ir, Path const& nvjitlink) {
    HandlerOptions const options = handler_options(before, include_folders, compiler_options,
                                                   headers, nvrtc, cache, keep, lto_ir, nvjitlink);
    BytesType const request{request_bytes, request_name};
    BytesType const reply{reply_bytes, reply_name};
    auto const compiled = [&](auto const& target) {
        OthersRun const others_run;
        return compile_handler(target, text, request, reply, options);
    };
    Device const* opened = nullptr;
    if (nb::try_cast(device, opened) && opened != nullptr) return compiled(*opened);
    return compiled(number_of<int>(device, [] { return Argument{"device"}; }));
}

}  // namespace

void bind_handler_text(nb::module_& module) {
    nb::class_<CompiledHandler>(module, "HandlerCode", "A handler's machine code.")
        .def_prop_ro("compute_capability", &CompiledHandler::compute_capability)
        .def_prop_ro("threads", &CompiledHandler::threads)
        .def_prop_ro("log", &CompiledHandler::log)
        .def_prop_ro("was_cached", &CompiledHandler::was_cached)
        .def_prop_ro("machine_code", [](CompiledHandler const& self) {
            return nb::bytes(self.machine_code().data(), self.machine_code().size());
        });
    def_function_as(module, "compile_handler", "_compile_handler", compile, nb::arg("device"),
                    nb::arg("handler"), nb::arg("request_bytes"), nb::arg("request_name"),
                    nb::arg("reply_bytes"), nb::arg("reply_name"), nb::arg("before"),
                    nb::arg("include_folders"), nb::arg("compiler_options"), nb::arg("headers"),
                    nb::arg("nvrtc"), nb::arg("cache"), nb::arg("keep"), nb::arg("lto_ir"),
                    nb::arg("nvjitlink"));
}

}  // namespace carillon::python
