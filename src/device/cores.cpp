// SPDX-License-Identifier: Apache-2.0
#include "carillon/cores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"

#if CARILLON_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace carillon {
namespace {

#if CARILLON_HAVE_HWLOC
struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

// The machine with its PCI devices; nullptr if hwloc cannot tell.
Topology load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return nullptr;
    Topology topology(raw);
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    // These components would start a GPU's driver.
    for (char const* component : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"}) {
        hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    }
    if (hwloc_topology_load(raw) != 0) return nullptr;
    return topology;
}

std::vector<unsigned> local_cores(std::string const& pci_bus_id) {
    Topology const topology = load_topology();
    if (topology == nullptr) return {};
    hwloc_obj* const slot = hwloc_get_pcidev_by_busidstring(topology.get(), pci_bus_id.c_str());
    if (slot == nullptr) return {};
    hwloc_obj* const home = hwloc_get_non_io_ancestor_obj(topology.get(), slot);
    if (home == nullptr || home->cpuset == nullptr) return {};
    std::vector<unsigned> cores;
    for (int core = hwloc_bitmap_first(home->cpuset); core >= 0;
         core = hwloc_bitmap_next(home->cpuset, core)) {
        cores.push_back(static_cast<unsigned>(core));
        if (cores.size() == CPU_SETSIZE) break;  // the set may be infinite
    }
    return cores;
}
#else
std::vector<unsigned> local_cores(std::string const& /*pci_bus_id*/) { return {}; }
#endif

}  // namespace

std::vector<unsigned> allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        throw SystemError("sched_getaffinity", errno);
    }
    std::vector<unsigned> cores;
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    return cores;
}

std::vector<unsigned> cores_near(DeviceInfo const& info) {
    std::vector<unsigned> allowed = allowed_cores();
    if (info.pci_bus_id.empty()) return allowed;
    std::vector<unsigned> const local = local_cores(info.pci_bus_id);  // ascending, like allowed
    std::vector<unsigned> near;
    std::set_intersection(allowed.begin(), allowed.end(), local.begin(), local.end(),
                          std::back_inserter(near));
    return near.empty() ? allowed : near;
}

OnCore::OnCore(unsigned core) try {
    if (sched_getaffinity(0, sizeof(before_), &before_) != 0) {
        throw SystemError("sched_getaffinity", errno);
    }
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);  // not beyond CPU_SETSIZE: the set stays empty then
    if (sched_setaffinity(0, sizeof(only), &only) == 0) return;
    // Not checked beforehand: a thread may move to cores outside of those it was given.
    if (errno != EINVAL) throw SystemError("sched_setaffinity", errno);
    throw UsageError(fmt::format("this process may not use core {}; this thread may run on {}",
                                 core, fmt::join(allowed_cores(), ", ")));
} catch (...) {
    detail::throw_named("OnCore");
}

OnCore::~OnCore() { (void)sched_setaffinity(0, sizeof(before_), &before_); }

}  // namespace carillon
