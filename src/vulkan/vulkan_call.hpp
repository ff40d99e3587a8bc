// SPDX-License-Identifier: Apache-2.0
// Calls of Vulkan, whose errors name them.
#pragma once

#define VK_NO_PROTOTYPES
#define VULKAN_HPP_DISPATCH_LOADER_DYNAMIC 1
#include <string_view>
#include <vulkan/vulkan_raii.hpp>

#include "carillon/error.hpp"

namespace carillon::detail {

// Runs `call`, and turns an error of vulkan.hpp into a VulkanError that names the call.
template <class Call>
auto vulkan_call(std::string_view name, Call&& call) {
    try {
        return call();
    } catch (vk::SystemError const& error) {
        auto const result = static_cast<vk::Result>(error.code().value());
        throw VulkanError(name, error.code().value(), vk::to_string(result));
    }
}

}  // namespace carillon::detail
