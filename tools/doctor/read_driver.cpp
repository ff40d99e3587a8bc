// SPDX-License-Identifier: Apache-2.0
// Reads the facts of NVIDIA's driver. Its libraries are found at run time, and their few functions
// are declared here: a build without CUDA, too, can say what a machine lacks.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "doctor/facts.hpp"
#include "report/first_line.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace carillon::tool {
namespace {

namespace fs = std::filesystem;

enum Attribute : int { run_time_limit = 17, compute_mode = 20 };
#if __has_include(<cuda.h>)
static_assert(int{CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT} == run_time_limit);
static_assert(int{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE} == compute_mode);
#endif

// A library that stays loaded, as the driver's do.
class Library {
   public:
    explicit Library(char const* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) error_ = ::dlerror();
    }
    [[nodiscard]] std::string const& error() const { return error_; }
    [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

    // Calls a function that returns 0 for success; -1 if there is no such function.
    template <class... Arguments>
    int call(char const* name, Arguments... arguments) const {
        void* const symbol = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
        if (symbol == nullptr) return -1;
        return reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...);
    }
    [[nodiscard]] std::string path_of(char const* symbol) const {
        Dl_info where{};
        void* const address = handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
        if (address == nullptr || ::dladdr(address, &where) == 0) return {};
        std::error_code ignored;
        return fs::weakly_canonical(where.dli_fname, ignored).string();
    }

   private:
    void* handle_;
    std::string error_;
};

// "580.159.04" of "libcuda.so.580.159.04".
std::string version_in(std::string const& path) {
    constexpr std::string_view before = ".so.";
    auto const at = path.rfind(before);
    std::string const version =
        at == std::string::npos ? std::string() : path.substr(at + before.size());
    return version.find('.') == std::string::npos ? std::string() : version;
}

std::string uuid_of(Library const& cuda, int device) {
    std::array<unsigned char, 16> bytes{};
    if (cuda.call("cuDeviceGetUuid_v2", bytes.data(), device) != 0) return {};
    std::string text = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", bytes.at(i));
    }
    return text;
}

std::optional<int> attribute_of(Library const& cuda, int device, Attribute attribute) {
    int value = 0;
    if (cuda.call("cuDeviceGetAttribute", &value, static_cast<int>(attribute), device) != 0) {
        return {};
    }
    return value;
}

GpuFacts gpu_of(Library const& cuda, int ordinal) {
    GpuFacts gpu;
    int device = 0;
    if (cuda.call("cuDeviceGet", &device, ordinal) != 0) return gpu;
    std::array<char, 256> text{};
    int const room = static_cast<int>(text.size());
    if (cuda.call("cuDeviceGetName", text.data(), room, device) == 0) gpu.name = text.data();
    if (cuda.call("cuDeviceGetPCIBusId", text.data(), room, device) == 0) {
        gpu.pci_bus_id = text.data();
    }
    gpu.uuid = uuid_of(cuda, device);
    gpu.compute_mode = attribute_of(cuda, device, compute_mode);
    gpu.run_time_limit = attribute_of(cuda, device, run_time_limit);
    return gpu;
}

std::string cuda_error(Library const& cuda, int result) {
    char const* name = nullptr;
    if (cuda.call("cuGetErrorName", result, &name) != 0 || name == nullptr) {
        return fmt::format("error {}", result);
    }
    return name;
}

void read_cuda(DriverFacts& facts) {
    Library const cuda("libcuda.so.1");
    facts.library_error = cuda.error();
    if (!cuda) return;
    facts.library_version = version_in(cuda.path_of("cuInit"));
    (void)cuda.call("cuDriverGetVersion", &facts.api_version);
    int const result = cuda.call("cuInit", 0U);
    if (result != 0) facts.init_error = cuda_error(cuda, result);
    int count = 0;
    if (result != 0 || cuda.call("cuDeviceGetCount", &count) != 0) return;
    for (int ordinal = 0; ordinal < count; ++ordinal) facts.gpus.push_back(gpu_of(cuda, ordinal));
}

// The first word that begins with a digit and has a dot.
std::string kernel_module_version() {
    std::string short_form = first_line_of_file("/sys/module/nvidia/version");
    if (!short_form.empty()) return short_form;
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;) {
        if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) {
            return word;
        }
    }
    return {};
}

std::vector<std::string> nvidia_on_pci() {
    std::vector<std::string> found;
    std::error_code error;
    for (auto const& each : fs::directory_iterator("/sys/bus/pci/devices", error)) {
        std::string const folder = each.path().string();
        bool const display = first_line_of_file(folder + "/class").starts_with("0x03");
        if (display && first_line_of_file(folder + "/vendor") == "0x10de") {
            found.push_back(each.path().filename().string());
        }
    }
    std::ranges::sort(found);
    return found;
}

std::vector<std::string> device_nodes() {
    std::vector<std::string> found;
    std::error_code error;
    for (auto const& each : fs::directory_iterator("/dev", error)) {
        std::string path = each.path().string();
        if (path.starts_with("/dev/nvidia") && !each.is_directory(error)) {
            found.push_back(std::move(path));
        }
    }
    std::ranges::sort(found);
    return found;
}

bool in_container(Variables const& variables) {
    std::error_code error;
    if (fs::exists("/.dockerenv", error) || fs::exists("/run/.containerenv", error)) return true;
    return variables.contains("container") || variables.contains("KUBERNETES_SERVICE_HOST") ||
           variables.contains("NVIDIA_VISIBLE_DEVICES");
}

struct NvmlBar {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

void read_nvml_device(Library const& nvml, void* device, NvmlFacts& facts) {
    int persistence = 0;
    if (nvml.call("nvmlDeviceGetPersistenceMode", device, &persistence) == 0) {
        facts.persistence = persistence != 0;
    }
    unsigned mig = 0;
    unsigned pending = 0;
    if (nvml.call("nvmlDeviceGetMigMode", device, &mig, &pending) == 0) facts.mig = mig != 0;
    NvmlBar bar{};
    if (nvml.call("nvmlDeviceGetBAR1MemoryInfo", device, &bar) == 0) {
        facts.bar_bytes = bar.total;
        facts.bar_free_bytes = bar.free;
    }
}

}  // namespace

GpuFacts const* chosen_gpu(std::string_view selector, DriverFacts const& driver) {
    if (!Device::names_gpu(selector)) return nullptr;
    if (selector.starts_with("GPU-")) {
        auto const found = std::ranges::find(driver.gpus, selector, &GpuFacts::uuid);
        return found == driver.gpus.end() ? nullptr : &*found;
    }
    if (selector.starts_with("cuda:")) selector.remove_prefix(5);
    std::size_t ordinal = 0;  // "best" and "cuda"
    (void)std::from_chars(selector.data(), selector.data() + selector.size(), ordinal);
    return ordinal < driver.gpus.size() ? &driver.gpus[ordinal] : nullptr;
}

DriverFacts read_driver(Variables variables) {
    DriverFacts facts;
    facts.variables = std::move(variables);
    facts.container = in_container(facts.variables);
    facts.pci_gpus = nvidia_on_pci();
    facts.kernel_module = kernel_module_version();
    facts.nodes = device_nodes();
    read_cuda(facts);
    return facts;
}

NvmlFacts read_nvml(std::string const& pci_bus_id) {
    NvmlFacts facts;
    Library const nvml("libnvidia-ml.so.1");
    if (!nvml || nvml.call("nvmlInit_v2") != 0) return facts;
    void* device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device) == 0) {
        read_nvml_device(nvml, device, facts);
    }
    (void)nvml.call("nvmlShutdown");
    return facts;
}

}  // namespace carillon::tool
