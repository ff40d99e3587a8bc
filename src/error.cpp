// SPDX-License-Identifier: Apache-2.0
#include "carillon/error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace carillon {

Error::Error(std::string_view call, std::string_view cause)
    : std::runtime_error(fmt::format("{}: {}", call, cause)), call_(call) {}

ResidencyError::ResidencyError(std::string_view call, unsigned asked, unsigned fit)
    : Error(call, fmt::format("{} blocks asked for, {} can be resident at once", asked, fit)),
      asked_(asked),
      fit_(fit) {}

HandlerError::HandlerError(std::string_view call, std::string_view command, std::uint32_t code)
    : Error(call, fmt::format("the handler refused {} with code {}", command, code)), code_(code) {}

CodedError::CodedError(std::string_view call, int code, std::string_view code_name,
                       std::string_view hint)
    : Error(call, fmt::format("{} ({}){}{}", code_name, code, hint.empty() ? "" : ": ", hint)),
      code_(code),
      code_name_(code_name) {}

DeviceFaultError::DeviceFaultError(std::string_view call, int code, std::string_view code_name)
    : CudaError(call, code, code_name,
                "a kernel has broken the CUDA context of this process; the GPU can be used again "
                "from a new process") {}

SystemError::SystemError(std::string_view call, int error_number)
    : CodedError(call, error_number, std::generic_category().message(error_number)) {}

}  // namespace carillon
