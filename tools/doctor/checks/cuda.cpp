// SPDX-License-Identifier: Apache-2.0
// The driver's settings for kernels: environment variables, and MPS.
#include <fmt/format.h>

#include <cstdlib>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject loading_subject{
    "cuda.module_loading",
    "With lazy loading the first launch of another kernel waits for the persistent one."};
constexpr Subject blocking_subject{
    "cuda.launch_blocking",
    "With launch blocking the launch of a persistent kernel never returns."};
constexpr Subject stack_subject{
    "cuda.stack", "A kernel that needs a larger stack waits until no other kernel runs."};
constexpr Subject connections_subject{
    "cuda.max_connections",
    "Streams that share a hardware queue with the persistent kernel wait for it."};
constexpr Subject visible_subject{"cuda.visible_devices",
                                  "CUDA counts only the GPUs that this variable names."};
constexpr Subject mps_subject{"gpu.mps",
                              "MPS clients share the GPU: a fault of one client ends all of them."};

std::string value_of(Variables const& variables, std::string const& name) {
    auto const found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
}

}  // namespace

Finding check_module_loading(Facts const& facts) {
    Variables const& variables = facts.driver.variables;
    DeviceInfo const& info = facts.open.info;
    std::string const variable = value_of(variables, "CUDA_MODULE_LOADING");
    std::string const found =
        fmt::format("{}CUDA_MODULE_LOADING {}",
                    info.module_loading.empty() ? "" : info.module_loading + " is in force, ",
                    variable.empty() ? "unset" : "= " + variable);
    if (info.module_loading == "lazy" || (info.module_loading.empty() && variable == "LAZY")) {
        return loading_subject.at(
            Severity::warning, found,
            "export CUDA_MODULE_LOADING=EAGER, or unset it: Carillon sets it");
    }
    return loading_subject.ok(found);
}

Finding check_launch_blocking(Facts const& facts) {
    Variables const& variables = facts.driver.variables;
    std::string const variable = value_of(variables, "CUDA_LAUNCH_BLOCKING");
    if (variable.empty() || variable == "0") return blocking_subject.ok("not set");
    return blocking_subject.at(lacking(facts), "CUDA_LAUNCH_BLOCKING = " + variable,
                               "unset CUDA_LAUNCH_BLOCKING");
}

Finding check_stack(Facts const& facts) {
    StackUse const& stack = facts.open.stack;
    auto const taken = [&](std::size_t bytes) {
        return fmt::format("{:.2f} GB of the GPU's memory for {} threads",
                           static_cast<double>(bytes * stack.threads) / 1e9, stack.threads);
    };
    std::string const found = fmt::format("{} bytes, {}", stack.limit, taken(stack.limit));
    if (stack.needed <= stack.limit) {
        return stack_subject.ok(
            fmt::format("{}; the kernels of this tool use {}", found, stack.needed));
    }
    return stack_subject.at(
        Severity::note,
        fmt::format("{}; the kernels of this tool use {}, which takes {} once one starts", found,
                    stack.needed, taken(stack.needed)),
        fmt::format("export CARILLON_STACK_BYTES={} keeps the present size; kernels that need more "
                    "then fail while others run",
                    stack.limit));
}

Finding check_connections(Facts const& facts) {
    Variables const& variables = facts.driver.variables;
    constexpr int driver_default = 8;
    std::string const variable = value_of(variables, "CUDA_DEVICE_MAX_CONNECTIONS");
    if (variable.empty()) return connections_subject.ok("not set: the driver takes 8");
    std::string const found = "CUDA_DEVICE_MAX_CONNECTIONS = " + variable;
    if (std::atoi(variable.c_str()) >= driver_default) return connections_subject.ok(found);
    return connections_subject.at(Severity::warning, found,
                                  "unset CUDA_DEVICE_MAX_CONNECTIONS, or export "
                                  "CUDA_DEVICE_MAX_CONNECTIONS=32");
}

Finding check_visible_devices(Facts const& facts) {
    Variables const& variables = facts.driver.variables;
    if (!variables.contains("CUDA_VISIBLE_DEVICES")) return visible_subject.ok("not set: all");
    return visible_subject.at(
        Severity::note,
        fmt::format("CUDA_VISIBLE_DEVICES = \"{}\"", value_of(variables, "CUDA_VISIBLE_DEVICES")),
        "unset CUDA_VISIBLE_DEVICES if a GPU is missing; --device GPU-<uuid> does not depend on "
        "the order");
}

Finding check_mps(Facts const& facts) {
    Variables const& variables = facts.driver.variables;
    HostFacts const& host = facts.host;
    std::string const folder = value_of(variables, "CUDA_MPS_PIPE_DIRECTORY");
    if (!host.mps_control) {
        if (folder.empty()) return mps_subject.ok("no control daemon");
        return mps_subject.at(Severity::note,
                              fmt::format("CUDA_MPS_PIPE_DIRECTORY = {}, but no control daemon is "
                                          "there",
                                          folder),
                              "unset CUDA_MPS_PIPE_DIRECTORY, or: nvidia-cuda-mps-control -d");
    }
    return mps_subject.at(Severity::note, "there is a pipe of a control daemon",
                          "to end MPS: echo quit | nvidia-cuda-mps-control");
}

}  // namespace carillon::tool
