// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/door.hpp"
#include "carillon/placement.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "carillon/error.hpp"
#include "os/replace_file.hpp"

namespace carillon {
namespace {

using nlohmann::json;

constexpr char const* format_name = "carillon placement profile";
constexpr int format_version = 2;  // 1 had "multiprocessors"

// A variable of the environment; an empty one counts as unset.
std::optional<std::filesystem::path> path_in(char const* variable) {
    char const* const value = std::getenv(variable);
    if (value == nullptr || *value == 0) return {};
    return value;
}

json ranks_to_json(std::vector<RankedProcessor> const& locations) {
    json all = json::array();
    for (RankedProcessor const& location : locations) {
        all.push_back({{"id", location.id}, {"p50_ns", location.p50_ns}});
    }
    return all;
}

json spread_to_json(LatencySpread const& spread) {
    return {{"best_ns", spread.best_ns},
            {"median_ns", spread.median_ns},
            {"worst_ns", spread.worst_ns}};
}

// Reports an error in the file.
[[noreturn]] void refuse(std::string const& cause) { throw std::domain_error(cause); }

double time_from_json(json const& value) {
    if (!value.is_number()) refuse("a time is not a number");
    auto const ns = value.get<double>();
    if (!std::isfinite(ns) || ns < 0) refuse("a time is negative or infinite");
    return ns;
}

std::vector<RankedProcessor> ranks_from_json(json const& value, char const* what) {
    if (!value.is_array()) refuse(fmt::format("{} is not a list", what));
    std::vector<RankedProcessor> locations;
    std::set<std::uint32_t> seen;
    for (json const& each : value) {
        json const& id = each.at("id");
        if (!id.is_number_unsigned() ||
            id.get<std::uint64_t>() > std::numeric_limits<std::uint16_t>::max()) {
            refuse(fmt::format("{} has an id that is not a number from 0 to 65535", what));
        }
        locations.push_back({id.get<std::uint32_t>(), time_from_json(each.at("p50_ns"))});
        if (!seen.insert(locations.back().id).second) {
            refuse(fmt::format("{} has the id {} twice", what, locations.back().id));
        }
    }
    return locations;
}

LatencySpread spread_from_json(json const& value) {
    return {time_from_json(value.at("best_ns")), time_from_json(value.at("median_ns")),
            time_from_json(value.at("worst_ns"))};
}

PlacementProfile from_json(json const& value) {
    if (!value.is_object() || value.value("format", json()) != format_name) {
        refuse("the file is not a placement profile");
    }
    if (value.at("version") != format_version) {
        refuse(fmt::format("the profile has version {}, not {}; `carillon tune` makes a new one",
                           value.at("version").dump(), format_version));
    }
    PlacementProfile profile;
    profile.uuid = value.at("uuid").get<std::string>();
    profile.sms = ranks_from_json(value.at("sms"), "sms");
    profile.cores = ranks_from_json(value.at("cores"), "cores");
    profile.request_pages = spread_from_json(value.at("request_pages"));
    profile.reply_pages = spread_from_json(value.at("reply_pages"));
    profile.device = value.at("device").get<std::string>();
    profile.driver = value.at("driver").get<std::string>();
    profile.date = value.at("date").get<std::string>();
    if (profile.sms.empty()) refuse("the profile has no SMs");
    return profile;
}

}  // namespace

std::filesystem::path placement_profile_path(DeviceInfo const& info) {
    return detail::in_call("placement_profile_path", [&] {
        std::string const file = (info.uuid.empty() ? "emulated" : info.uuid) + ".json";
        if (auto const folder = path_in("CARILLON_PROFILES"))
            return std::filesystem::path(*folder / file);
        auto config = path_in("XDG_CONFIG_HOME");
        if (!config) {
            auto const home = path_in("HOME");
            if (!home) {
                throw UsageError("neither CARILLON_PROFILES nor XDG_CONFIG_HOME nor HOME is set");
            }
            config = *home / ".config";
        }
        return *config / "carillon" / "placement" / file;
    });
}

PlacementProfile load_placement_profile(PathArgument const& path, DeviceInfo const& info) {
    return detail::in_call("load_placement_profile", [&] {
        errno = 0;
        std::ifstream file(path);
        if (!file) throw SystemError("open " + path, errno != 0 ? errno : EIO);
        PlacementProfile profile;
        try {
            profile = from_json(json::parse(file));
        } catch (std::exception const& cause) {  // our error, or the JSON library's
            throw FormatError(path + ": " + cause.what());
        }
        if (profile.uuid != info.uuid) {
            auto const shown = [](std::string const& uuid) {
                return uuid.empty() ? "emulated" : uuid;
            };
            throw FormatError(fmt::format(
                "{}: the profile is for {}, not for {}; `carillon tune` makes a new one", path,
                shown(profile.uuid), shown(info.uuid)));
        }
        return profile;
    });
}

void save_placement_profile(PlacementProfile const& profile, PathArgument const& path) {
    detail::in_call("save_placement_profile", [&] {
        std::error_code error;
        auto const folder = std::filesystem::path(path).parent_path();
        if (!folder.empty()) std::filesystem::create_directories(folder, error);
        if (error) {
            throw SystemError("make the folders of " + path, error.value());
        }
        json const value{{"format", format_name},
                         {"version", format_version},
                         {"uuid", profile.uuid},
                         {"device", profile.device},
                         {"driver", profile.driver},
                         {"date", profile.date},
                         {"sms", ranks_to_json(profile.sms)},
                         {"cores", ranks_to_json(profile.cores)},
                         {"request_pages", spread_to_json(profile.request_pages)},
                         {"reply_pages", spread_to_json(profile.reply_pages)}};
        // A driver's name for a device may not be UTF-8.
        auto const text = value.dump(2, ' ', false, json::error_handler_t::replace);
        detail::replace_file(path, text + '\n');
    });
}

std::optional<PlacementProfile> find_placement_profile(DeviceInfo const& info,
                                                       std::string& why_not) {
    try {
        std::filesystem::path const path = placement_profile_path(info);
        if (std::filesystem::exists(path)) return load_placement_profile(path, info);
        why_not =
            fmt::format("there is no profile at {} (`carillon tune` makes one)", path.string());
    } catch (std::exception const& error) {  // nobody asked for this file by name
        why_not = error.what();
    }
    return {};
}

}  // namespace carillon
