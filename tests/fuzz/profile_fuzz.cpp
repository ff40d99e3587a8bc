// SPDX-License-Identifier: Apache-2.0
// A placement profile: one of this device, or an error that names the file.
#include "carillon/error.hpp"
#include "carillon/placement.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

CARILLON_FUZZ_TARGET(profile, input) {
    MemoryFile const file(input.rest());
    DeviceInfo info;
    info.uuid = "GPU-0123";
    try {
        PlacementProfile const profile = load_placement_profile(file.path(), info);
        require(profile.uuid == info.uuid, "a profile that is loaded is this device's");
        require(!profile.sms.empty(), "it has SMs");
    } catch (FormatError const&) {  // as it should be
    }
}
