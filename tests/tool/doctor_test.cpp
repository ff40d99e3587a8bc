// SPDX-License-Identifier: Apache-2.0
// How `carillon doctor` judges machines that are made up here.
#include "doctor/doctor.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "carillon/error.hpp"
#include "doctor/checks.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::tool {
namespace {

constexpr Severity bad = Severity::error;

// Expects that the finding has this severity and these words, and its fix those.
void expect(Finding const& finding, Severity severity, std::string const& found,
            std::string const& fix) {
    EXPECT_EQ(finding.severity, severity) << finding.id << ": " << finding.found;
    EXPECT_NE(finding.found.find(found), std::string::npos) << finding.id << ": " << finding.found;
    EXPECT_NE(finding.fix.find(fix), std::string::npos) << finding.id << ": " << finding.fix;
    EXPECT_EQ(finding.fix.empty(), severity == Severity::ok) << finding.id;
    EXPECT_FALSE(finding.why.empty()) << finding.id;
}
void expect_ok(Finding const& finding) { expect(finding, Severity::ok, "", ""); }

GpuFacts some_gpu() { return {"NVIDIA H200", "GPU-1234", "0000:18:00.0", 0, 0}; }

GpuFacts another_gpu() { return {"another", "GPU-5678", "", {}, {}}; }

DriverFacts working_driver() {
    DriverFacts driver;
    driver.pci_gpus = {"0000:18:00.0"};
    driver.kernel_module = "580.159.04";
    driver.library_version = "580.159.04";
    driver.nodes = {"/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"};
    driver.api_version = 13000;
    driver.gpus = {some_gpu()};
    return driver;
}

VulkanFacts working_vulkan() {
    VulkanFacts vulkan;
    vulkan.icds = {{"/usr/share/vulkan/icd.d/nvidia_icd.json", "libGLX_nvidia.so.0", ""}};
    vulkan.devices = {{"NVIDIA H200", "GPU-1234", false, true}};
    return vulkan;
}

// The system's files are that one.
auto file(std::string const& there, std::string const& line) {
    return [=](std::string const& path) { return path == there ? line : std::string(); };
}
constexpr char const* huge_pages = "/sys/kernel/mm/transparent_hugepage/enabled";

// A machine without any fault.
Facts working_facts() {
    Facts facts;
    facts.selector = "best";
    facts.build = {true, true};
    facts.driver = working_driver();
    facts.vulkan = working_vulkan();
    facts.open.info.name = "NVIDIA H200";
    facts.open.info.bar_size = std::uint64_t{256} << 30U;
    facts.open.info.write_ordering = 100;
    facts.open.info.module_loading = "eager";
    facts.call.p50_ns = 1700;
    facts.mapping = MappingReport{900, 150, 600, false};
    facts.nvml = {true, false, std::uint64_t{256} << 30U, std::uint64_t{255} << 30U};
    facts.clocks = {{"gpu_clock_mhz", 1980}, {"gpu_clock_max_mhz", 1980}};
    facts.slot = {"32.0 GT/s PCIe", "32.0 GT/s PCIe", 16, 16, 0, {0, 1, 2, 3}, "identity"};
    facts.cpu = {true, {"movdir64b", "avx512"}, "one-step", true, {0, 1}, {"performance"}};
    facts.host.line_of = file(huge_pages, "always [madvise] never");
    return facts;
}

void put(BuildFacts const& part, Facts& facts) { facts.build = part; }
void put(DriverFacts const& part, Facts& facts) { facts.driver = part; }
void put(Variables const& part, Facts& facts) { facts.driver.variables = part; }
void put(GpuFacts const& part, Facts& facts) { facts.driver.gpus = {part}; }
void put(VulkanFacts const& part, Facts& facts) { facts.vulkan = part; }
void put(OpenFacts const& part, Facts& facts) { facts.open = part; }
void put(DeviceInfo const& part, Facts& facts) { facts.open.info = part; }
void put(CallFacts const& part, Facts& facts) { facts.call = part; }
void put(MappingReport const& part, Facts& facts) { facts.mapping = part; }
void put(NvmlFacts const& part, Facts& facts) { facts.nvml = part; }
void put(nlohmann::json const& part, Facts& facts) { facts.clocks = part; }
void put(SlotFacts const& part, Facts& facts) { facts.slot = part; }
void put(CpuFacts const& part, Facts& facts) { facts.cpu = part; }
void put(HostFacts const& part, Facts& facts) { facts.host = part; }
void put(char const* const& selector, Facts& facts) { facts.selector = selector; }

constexpr char const* emulated_vulkan = "emulated:vulkan";

// Facts of a GPU that was asked for, with these parts and nothing else.
template <class... Parts>
Facts with(Parts const&... parts) {
    Facts facts;
    facts.selector = "cuda:0";
    (put(parts, facts), ...);
    return facts;
}

Finding const& of(std::vector<Finding> const& findings, std::string const& id) {
    auto const found = std::ranges::find(findings, id, &Finding::id);
    if (found == findings.end()) throw Error("no finding", id);
    return *found;
}

TEST(DoctorTest, aWorkingMachineHasNoComplaint) {
    auto const findings = diagnose(working_facts());
    std::set<std::string> ids;
    for (Finding const& each : findings) {
        expect_ok(each);
        EXPECT_TRUE(ids.insert(each.id).second) << each.id << " twice";
    }
    EXPECT_GT(ids.size(), 30U);
}

TEST(DoctorTest, withoutAGpuBestWarnsAndAGpuThatWasAskedForIsAnError) {
    Facts facts = working_facts();
    facts.driver = {};
    facts.driver.library_error = "libcuda.so.1: cannot open";
    facts.open.info.emulated = true;
    DoctorReport report{"best", {}, diagnose(facts)};
    EXPECT_EQ(report.count(Severity::error), 0U);
    expect(of(report.findings, "driver.library"), Severity::warning, "libcuda.so.1", "libcuda1");
    EXPECT_NO_THROW(require_no_error(report));

    facts.selector = "cuda:0";
    facts.open.error = "the CUDA driver sees no GPU";
    report.findings = diagnose(facts);
    expect(of(report.findings, "device.open"), Severity::error, "sees no GPU", "carillon info");
    expect(of(report.findings, "driver.gpus"), Severity::error, "unknown", "driver.library");
    EXPECT_THROW(require_no_error(report), Error);
}

TEST(DoctorTest, theEmulatedDeviceAsksForNoDriver) {
    Facts facts = working_facts();
    facts.selector = "emulated";
    facts.driver = {};
    facts.vulkan = {};
    facts.open.info.emulated = true;
    for (Finding const& each : diagnose(facts)) {
        EXPECT_FALSE(each.id.starts_with("driver.") || each.id.starts_with("vulkan.") ||
                     each.id.starts_with("gpu.") || each.id.starts_with("cuda."))
            << each.id;
    }
}

TEST(DoctorTest, aBuildWithoutCudaIsToldFromOneWithoutNvcc) {
    expect(check_build(with(BuildFacts{false, false})), bad, "no CUDA support",
           "scripts/setup --cuda");
    expect(check_build(with(BuildFacts{true, false})), bad, "no nvcc", "scripts/setup --cuda");
    expect_ok(check_build(with(BuildFacts{true, true})));
}

TEST(DoctorTest, aMissingKernelModuleIsExplainedByWhereItIsMissing) {
    DriverFacts driver;
    expect(check_kernel_module(with(driver)), bad, "no NVIDIA GPU is on the PCI", "emulated");
    driver.pci_gpus = {"0000:18:00.0"};
    expect(check_kernel_module(with(driver)), bad, "0000:18:00.0", "modprobe nvidia");
    driver.container = true;
    expect(check_kernel_module(with(driver)), bad, "container", "--gpus all");
    driver.gpus = {some_gpu()};  // a sandbox may hide the module
    expect_ok(check_kernel_module(with(driver)));
}

TEST(DoctorTest, missingDeviceNodesAreNamed) {
    DriverFacts driver = working_driver();
    expect_ok(check_device_nodes(with(driver)));
    driver.gpus.clear();
    driver.nodes = {"/dev/nvidia0", "/dev/nvidiactl"};
    expect(check_device_nodes(with(driver)), bad, "/dev/nvidia-uvm", "nvidia-modprobe");
    driver.nodes = {"/dev/nvidia-uvm", "/dev/nvidiactl"};
    driver.container = true;
    expect(check_device_nodes(with(driver)), bad, "/dev/nvidia<N>", "--gpus all");
}

TEST(DoctorTest, aMissingLibraryInAContainerIsACapability) {
    DriverFacts driver;
    driver.library_error = "libcuda.so.1: cannot open";
    expect(check_library(with(driver)), bad, "libcuda.so.1", "apt-get install libcuda1");
    driver.container = true;
    driver.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "utility"}};
    expect(check_library(with(driver)), bad, "libcuda.so.1", "is utility, and needs compute");
}

TEST(DoctorTest, anOldDriverIsWarnedOf) {
    DriverFacts driver = working_driver();
    driver.api_version = 12020;
    expect(check_library(with(driver)), Severity::warning, "CUDA 12.2", "550");
}

TEST(DoctorTest, versionsThatDifferAreAnErrorIfTheDriverRefuses) {
    DriverFacts driver = working_driver();
    driver.library_version = "550.54.15";
    expect(check_versions(with(driver)), Severity::note, "550.54.15", "compatibility");
    driver.init_error = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    driver.gpus.clear();
    expect(check_versions(with(driver)), bad, "kernel module 580.159.04", "reboot");
    expect(check_gpus(with(driver)), bad, "SYSTEM_DRIVER_MISMATCH", "driver.versions");
    driver.container = true;
    expect(check_versions(with(driver)), bad, "550.54.15", "restart the container");
}

TEST(DoctorTest, gpusMayBeHiddenByAVariable) {
    DriverFacts driver = working_driver();
    driver.gpus.clear();
    driver.init_error = "CUDA_ERROR_NO_DEVICE";
    expect(check_gpus(with(driver)), bad, "CUDA_ERROR_NO_DEVICE", "dmesg");
    driver.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
    expect(check_gpus(with(driver)), bad, "CUDA_VISIBLE_DEVICES is \"\"",
           "unset CUDA_VISIBLE_DEVICES");
}

TEST(DoctorTest, aSelectorChoosesItsGpu) {
    DriverFacts driver = working_driver();
    driver.gpus.push_back(another_gpu());
    EXPECT_EQ(chosen_gpu("best", driver), &driver.gpus[0]);
    EXPECT_EQ(chosen_gpu("cuda:1", driver), &driver.gpus[1]);
    EXPECT_EQ(chosen_gpu("1", driver), &driver.gpus[1]);
    EXPECT_EQ(chosen_gpu("GPU-5678", driver), &driver.gpus[1]);
    EXPECT_EQ(chosen_gpu("cuda:2", driver), nullptr);
    EXPECT_EQ(chosen_gpu("GPU-9", driver), nullptr);
    EXPECT_EQ(chosen_gpu("emulated", driver), nullptr);
}

TEST(DoctorTest, aMissingVulkanLoaderIsOnePackage) {
    VulkanFacts vulkan;
    vulkan.loader_error = "libvulkan.so.1: cannot open";
    expect(check_loader(with(vulkan)), bad, "libvulkan.so.1", "apt-get install libvulkan1");
}

TEST(DoctorTest, aMissingIcdHasTheFixOfItsPlace) {
    VulkanFacts vulkan;
    DriverFacts driver;
    vulkan.egl_error = "libEGL_nvidia.so.0: cannot open";
    auto const check = [&] { return check_icds(with(vulkan, driver)); };
    expect(check(), bad, "no Vulkan driver (ICD) file was found", "nvidia-vulkan-icd");
    driver.container = true;
    driver.variables = {{"NVIDIA_DRIVER_CAPABILITIES", "compute,utility"}};
    expect(check(), bad, "no Vulkan driver", "is compute,utility, and needs graphics");
    vulkan.egl_error.clear();  // the libraries are there, but no file
    expect(check(), bad, "no Vulkan driver", "libEGL_nvidia.so.0");
    vulkan.icds = {{"/usr/share/vulkan/icd.d/lvp_icd.json", "libvulkan_lvp.so", ""}};
    expect(check(), bad, "is NVIDIA's: /usr/share/vulkan/icd.d/lvp_icd.json", "VK_DRIVER_FILES");
    expect_ok(check_icds(with(vulkan, driver, emulated_vulkan)));
}

TEST(DoctorTest, aVariableThatNamesNoFileIsToBeUnset) {
    VulkanFacts vulkan;
    vulkan.variable = "VK_DRIVER_FILES";
    vulkan.icds = {{"/nowhere/icd.json", "", "there is no such file"}};
    expect(check_icds(with(vulkan, emulated_vulkan)), bad, "/nowhere/icd.json",
           "unset VK_DRIVER_FILES");
}

TEST(DoctorTest, anIcdWhoseLibraryDoesNotLoadIsExplained) {
    VulkanFacts vulkan = working_vulkan();
    DriverFacts driver;
    vulkan.egl_error = "libEGL_nvidia.so.0: cannot open";
    auto const check = [&] { return check_icd_libraries(with(vulkan, driver)); };
    vulkan.icds[0].error = "libXext.so.6: cannot open shared object file";
    expect(check(), bad, "libXext.so.6", "apt-get install libxext6");
    vulkan.icds[0].error = "libGLX_nvidia.so.0: cannot open shared object file";
    expect(check(), bad, "libGLX_nvidia.so.0", "nvidia-vulkan-icd");
    driver.container = true;
    expect(check(), bad, "NVIDIA_DRIVER_CAPABILITIES is unset", "graphics");
    vulkan.egl_error.clear();
    expect(check(), bad, "libGLX_nvidia.so.0", "VK_DRIVER_FILES");
}

TEST(DoctorTest, theVulkanDeviceHasToBeTheSameAndMappable) {
    VulkanFacts vulkan = working_vulkan();
    expect_ok(check_vulkan_device(with(vulkan, working_driver())));
    expect(check_vulkan_device(with(vulkan, another_gpu())), bad, "NVIDIA H200 (GPU-1234)",
           "VK_LOADER_DEBUG");
    expect(check_vulkan_device(with(vulkan, emulated_vulkan)), bad, "that is a CPU", "vulkan.icd");
    vulkan.devices[0].mappable = false;
    expect(check_vulkan_device(with(vulkan, working_driver())), bad, "mapped", "Resizable BAR");
}

TEST(DoctorTest, aCallIsMadeFailsOrIsLeftOut) {
    expect_ok(check_call(with(CallFacts{"", "", 1700})));
    expect(check_call(with(CallFacts{"", "cuLaunchKernel: CUDA_ERROR", 0})), bad, "CUDA_ERROR",
           "driver");
    expect(check_call(with(CallFacts{"CUDA_LAUNCH_BLOCKING is set", "", 0})), Severity::note,
           "not tried", "carillon doctor");
}

TEST(DoctorTest, aSmallBarIsANoteAndAFullOneAWarning) {
    DeviceInfo info;
    info.bar_size = 256U << 20U;
    expect(check_bar(with(info)), Severity::note, "256 MiB", "Resizable BAR");
    expect(check_bar(with(info, NvmlFacts{{}, {}, 256U << 20U, 1U << 20U})), Severity::warning,
           "free: 1 MiB", "end other processes");
    info.bar_size.reset();
    expect_ok(check_bar(with(info)));
}

TEST(DoctorTest, aHeapWithoutBudgetIsWarnedOf) {
    DeviceInfo info;
    expect_ok(check_heap(with(info)));
    info.memory_type = 0;
    info.memory_types = {{{"DeviceLocal", "HostVisible"}, 0}};
    info.heaps = {{std::uint64_t{2} << 30U, std::uint64_t{1} << 30U, true, true}};
    expect_ok(check_heap(with(info)));
    info.heaps[0].budget = 1U << 20U;
    expect(check_heap(with(info)), Severity::warning, "1 MiB of it", "nvidia-smi");
}

// A kernel still works, so Vulkan's faults are no errors then.
TEST(DoctorTest, ringsInHostMemoryAreWarnedOfWithWhatIsMissing) {
    Facts facts = working_facts();
    facts.open.info.memory_source = MemorySource::host;
    facts.open.info.why_host_memory = "Vulkan: no Vulkan driver (ICD) was found";
    facts.vulkan.icds.clear();
    facts.vulkan.devices.clear();
    std::vector<Finding> const findings = diagnose(facts);
    EXPECT_EQ(std::ranges::count(findings, bad, &Finding::severity), 0);
    auto const source = std::ranges::find(findings, "memory.source", &Finding::id);
    ASSERT_NE(source, findings.end());
    expect(*source, Severity::warning, "no Vulkan driver", "Vulkan findings");
    facts.open.error = "Device::open: no";  // DeviceMemory::mapped
    EXPECT_GT(std::ranges::count(diagnose(facts), bad, &Finding::severity), 1);
}

TEST(DoctorTest, aMappingThatIsNotWriteCombiningIsToldOf) {
    expect_ok(check_mapping(with(MappingReport{900, 150, 600, false})));
    expect(check_mapping(with(MappingReport{900, 30, 30, false})), Severity::note, "uncached",
           "carillon verify");
    expect(check_mapping(with(MappingReport{3, 40, 40, false})), Severity::warning, "cached",
           "carillon verify");
}

TEST(DoctorTest, aDeviceThatMayReorderWritesIsNoted) {
    DeviceInfo info;
    info.write_ordering = 0;
    info.data_order = DataOrder::read_back;
    expect(check_order(with(info)), Severity::note, "reads back", "1 KiB");
}

TEST(DoctorTest, lazyModuleLoadingIsWarnedOf) {
    DeviceInfo info;
    info.module_loading = "lazy";
    expect(check_module_loading(with(Variables{{"CUDA_MODULE_LOADING", "LAZY"}}, info)),
           Severity::warning, "lazy is in force", "CUDA_MODULE_LOADING=EAGER");
    expect(check_module_loading(with(Variables{{"CUDA_MODULE_LOADING", "LAZY"}})),
           Severity::warning, "LAZY", "EAGER");
    info.module_loading = "eager";
    expect_ok(check_module_loading(with(info)));
}

TEST(DoctorTest, blockingLaunchesAreAnErrorOnAGpu) {
    expect(check_launch_blocking(with(Variables{{"CUDA_LAUNCH_BLOCKING", "1"}})), bad,
           "CUDA_LAUNCH_BLOCKING = 1", "unset CUDA_LAUNCH_BLOCKING");
    expect_ok(check_launch_blocking(with(Variables{{"CUDA_LAUNCH_BLOCKING", "0"}})));
}

TEST(DoctorTest, theStackThatKernelsNeedIsNoted) {
    OpenFacts open;
    open.stack = {.limit = 1024, .needed = 6144, .threads = 270336};
    expect(check_stack(with(open)), Severity::note,
           "1024 bytes, 0.28 GB of the GPU's memory for 270336 threads; the kernels of this tool "
           "use 6144, which takes 1.66 GB",
           "CARILLON_STACK_BYTES=1024");
    open.stack.limit = 8192;
    expect_ok(check_stack(with(open)));
    EXPECT_NE(check_stack(with(open)).found.find("8192 bytes, 2.21 GB"), std::string::npos);
}

TEST(DoctorTest, variablesOfTheDriverAreShown) {
    expect(check_connections(with(Variables{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}})),
           Severity::warning, "= 1", "CUDA_DEVICE_MAX_CONNECTIONS=32");
    expect_ok(check_connections(with(Variables{{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}})));
    expect(check_visible_devices(with(Variables{{"CUDA_VISIBLE_DEVICES", "1"}})), Severity::note,
           "\"1\"", "unset CUDA_VISIBLE_DEVICES");
}

TEST(DoctorTest, aGpuThatMayNotBeUsedIsAnError) {
    GpuFacts gpu = some_gpu();
    gpu.compute_mode = 2;
    expect(check_compute_mode(with(gpu)), bad, "prohibited", "nvidia-smi -c DEFAULT");
    gpu.compute_mode = 3;
    expect(check_compute_mode(with(gpu)), Severity::note, "exclusive", "nvidia-smi -c DEFAULT");
    gpu.run_time_limit = 1;
    expect(check_watchdog(with(gpu)), bad, "time limit", "Interactive");
}

TEST(DoctorTest, migIsAnErrorUnlessTheDeviceOpened) {
    NvmlFacts nvml;
    expect_ok(check_mig(with(nvml, OpenFacts{"not opened", {}})));
    nvml.mig = true;
    expect(check_mig(with(nvml, OpenFacts{"not opened", {}})), bad, "on", "nvidia-smi -mig 0");
    expect(check_mig(with(nvml)), Severity::note, "on", "nvidia-smi -mig 0");
}

TEST(DoctorTest, mpsIsNoted) {
    HostFacts host;
    expect_ok(check_mps(with(host)));
    expect(check_mps(with(host, Variables{{"CUDA_MPS_PIPE_DIRECTORY", "/mps"}})), Severity::note,
           "/mps", "nvidia-cuda-mps-control -d");
    host.mps_control = true;
    expect(check_mps(with(host)), Severity::note, "control daemon", "echo quit");
}

TEST(DoctorTest, persistenceAndClocksAreNoted) {
    NvmlFacts nvml;
    expect_ok(check_persistence(with(nvml)));
    nvml.persistence = false;
    expect(check_persistence(with(nvml)), Severity::note, "off", "nvidia-smi -pm 1");
    expect(check_clocks(with(nlohmann::json{{"gpu_clock_mhz", 345}, {"gpu_clock_max_mhz", 1980}})),
           Severity::note, "345 MHz", "nvidia-smi -lgc 1980");
    expect_ok(check_clocks(Facts()));
}

TEST(DoctorTest, aNarrowOrSlowLinkIsSeen) {
    SlotFacts slot = working_facts().slot;
    slot.link_speed = "2.5 GT/s PCIe";
    expect(check_link(with(slot)), Severity::note, "2.5 GT/s PCIe x16 now", "idle");
    slot.link_width = 8;
    expect(check_link(with(slot)), Severity::warning, "x8 now", "slot");
    expect_ok(check_link(Facts()));
}

TEST(DoctorTest, coresFarFromTheGpuAreSeen) {
    SlotFacts slot = working_facts().slot;
    CpuFacts cpu = working_facts().cpu;
    expect_ok(check_near_cores(with(slot, cpu)));
    cpu.allowed = {3, 4, 5};
    expect(check_near_cores(with(slot, cpu)), Severity::note, "1 of the 3", "taskset -c 3 ");
    cpu.allowed = {4, 5};
    expect(check_near_cores(with(slot, cpu)), Severity::warning, "0 of the 2",
           "taskset -c 0,1,2,3 ");
}

TEST(DoctorTest, anIommuThatTranslatesIsNoted) {
    SlotFacts slot;
    HostFacts host;
    expect_ok(check_iommu(with(slot, host)));
    host.iommu_groups = 40;
    slot.iommu_type = "DMA-FQ";
    expect(check_iommu(with(slot, host)), Severity::note, "DMA-FQ",
           "boot the kernel with iommu=pt");
    host.line_of = file("/proc/cmdline", "quiet intel_iommu=on iommu=pt");
    expect(check_iommu(with(slot, host)), Severity::note, "iommu=pt", "firmware");
    slot.iommu_type = "identity";
    expect_ok(check_iommu(with(slot, host)));
}

TEST(DoctorTest, aCpuWithoutAvxIsAnError) {
    CpuFacts cpu = working_facts().cpu;
    cpu.avx = false;
    expect(check_stores(with(cpu)), bad, "AVX", "-cpu host");
}

TEST(DoctorTest, aCpuThatPublishesInTwoStepsIsNotedOnAGpu) {
    CpuFacts cpu = working_facts().cpu;
    cpu.stores = {"avx2", "sse2"};
    cpu.publish_mode = "two-step";
    expect(check_stores(with(cpu, working_driver())), Severity::note, "avx2, sse2", "MOVDIR64B");
    expect_ok(check_stores(with(cpu)));
    cpu.waitpkg = false;
    expect_ok(check_waits(with(cpu)));
}

TEST(DoctorTest, slowClocksAndOneProcessorAreWarnedOf) {
    CpuFacts cpu = working_facts().cpu;
    cpu.governors = {"performance", "powersave"};
    expect(check_governor(with(cpu)), Severity::warning, "powersave", "cpupower");
    cpu.allowed = {3};
    expect(check_processors(with(cpu)), Severity::warning, "one for this process", "yield");
}

TEST(DoctorTest, hugePagesAndLimitsAreSeen) {
    HostFacts host;
    host.line_of = file(huge_pages, "[always] madvise never");
    expect(check_huge_pages(with(host)), Severity::note, "[always]", "echo madvise");
    expect_ok(check_locked_memory(with(host)));
    host.limits[RLIMIT_MEMLOCK] = 64U << 10U;
    expect(check_locked_memory(with(host)), Severity::note, "64 KiB", "ulimit -l");
    host.limits[RLIMIT_NOFILE] = 64;
    expect(check_open_files(with(host)), Severity::warning, "64", "ulimit -n");
    expect_ok(check_file_size(with(host)));
    host.limits[RLIMIT_FSIZE] = 10U << 10U;
    expect(check_file_size(with(host)), Severity::warning, "10 KiB", "ulimit -f");
    host.limits[RLIMIT_AS] = std::uint64_t{4} << 30U;
    expect(check_address_space(with(host, working_driver())), Severity::warning, "4096 MiB",
           "ulimit -v");
    expect_ok(check_address_space(with(host)));
}

TEST(DoctorTest, theWorstComesFirst) {
    DoctorReport report{"best", {}, {}};
    report.device.name = "a device";
    report.findings = {{"a.fine", Severity::ok, "found a", "why a", ""},
                       {"b.note", Severity::note, "found b", "why b", "fix b"},
                       {"c.error", Severity::error, "found c", "why c", "fix c"}};
    EXPECT_EQ(doctor_text(report),
              "3 checks of a device\n"
              "1 error\n  c.error               found c\n    why: why c\n    fix: fix c\n"
              "1 note\n  b.note                found b\n    why: why b\n    fix: fix b\n"
              "1 ok\n  a.fine                found a\n"
              "verdict: persistent kernels do NOT work; 0 warnings, 1 note\n");
    auto const json = to_json(report);
    EXPECT_EQ(json["errors"], 1);
    EXPECT_EQ(json["findings"][1]["severity"], "note");
    EXPECT_EQ(json["findings"][1]["fix"], "fix b");
}

TEST(DoctorTest, setsOfCoresAreRead) {
    EXPECT_EQ(parse_cores("0-3,8"), (std::vector<unsigned>{0, 1, 2, 3, 8}));
    EXPECT_EQ(parse_cores("5"), std::vector<unsigned>{5});
    EXPECT_TRUE(parse_cores("").empty());
    EXPECT_TRUE(parse_cores("none").empty());
}

TEST(DoctorTest, icdFilesAreReadAsTheLoaderDoes) {
    test::TemporaryDirectory const folder;
    std::string const good = folder.path() / "b.json";
    std::string const broken = folder.path() / "c.json";
    std::ofstream(good) << R"({"ICD": {"library_path": "libGLX_nvidia.so.0"}})";
    std::ofstream(broken) << "{]";
    std::ofstream(folder.path() / "a.txt") << "no ICD";
    EXPECT_EQ(parse_icd(good).library, "libGLX_nvidia.so.0");
    EXPECT_EQ(parse_icd(good).error, "");
    EXPECT_NE(parse_icd(broken).error.find("names no library"), std::string::npos);
    EXPECT_NE(parse_icd("/nowhere/icd.json").error.find("no such file"), std::string::npos);
    Variables const old{{"VK_ICD_FILENAMES", good + ":/nowhere/icd.json"}};
    EXPECT_EQ(icd_paths(old), (std::vector<std::string>{good, "/nowhere/icd.json"}));
    Variables const both{{"VK_DRIVER_FILES", folder.path().string()}, {"VK_ICD_FILENAMES", "/x"}};
    EXPECT_EQ(icd_paths(both), (std::vector<std::string>{good, broken}));
}

TEST(DoctorTest, icdsAreFoundInTheUsersFolders) {
    test::TemporaryDirectory const folder;
    auto const icds = folder.path() / "vulkan" / "icd.d";
    std::filesystem::create_directories(icds);
    std::ofstream(icds / "nvidia_icd.json") << "{}";
    auto const paths = icd_paths({{"XDG_DATA_HOME", folder.path().string()}});
    EXPECT_NE(std::ranges::find(paths, (icds / "nvidia_icd.json").string()), paths.end());
}

}  // namespace
}  // namespace carillon::tool
