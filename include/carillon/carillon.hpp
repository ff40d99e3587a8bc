// SPDX-License-Identifier: Apache-2.0
// Everything that a program needs to command a running kernel. Its unit tests may also need
// testing.hpp.
#pragma once

#include "carillon/arena.hpp"            // IWYU pragma: export
#include "carillon/arguments.hpp"        // IWYU pragma: export
#include "carillon/block.hpp"            // IWYU pragma: export
#include "carillon/buffer.hpp"           // IWYU pragma: export
#include "carillon/bytes.hpp"            // IWYU pragma: export
#include "carillon/bytes_kernel.hpp"     // IWYU pragma: export
#include "carillon/channel_memory.hpp"   // IWYU pragma: export
#include "carillon/chunk_ring.hpp"       // IWYU pragma: export
#include "carillon/client.hpp"           // IWYU pragma: export
#include "carillon/commands.hpp"         // IWYU pragma: export
#include "carillon/connection.hpp"       // IWYU pragma: export
#include "carillon/copy.hpp"             // IWYU pragma: export
#include "carillon/cores.hpp"            // IWYU pragma: export
#include "carillon/device.hpp"           // IWYU pragma: export
#include "carillon/device_info.hpp"      // IWYU pragma: export
#include "carillon/device_reader.hpp"    // IWYU pragma: export
#include "carillon/device_traits.hpp"    // IWYU pragma: export
#include "carillon/device_writer.hpp"    // IWYU pragma: export
#include "carillon/error.hpp"            // IWYU pragma: export
#include "carillon/file_descriptor.hpp"  // IWYU pragma: export
#include "carillon/flag.hpp"             // IWYU pragma: export
#include "carillon/guard.hpp"            // IWYU pragma: export
#include "carillon/handler_text.hpp"     // IWYU pragma: export
#include "carillon/held_memory.hpp"      // IWYU pragma: export
#include "carillon/host_service.hpp"     // IWYU pragma: export
#include "carillon/kernel.hpp"           // IWYU pragma: export
#include "carillon/kernel_options.hpp"   // IWYU pragma: export
#include "carillon/kernel_state.hpp"     // IWYU pragma: export
#include "carillon/launch.hpp"           // IWYU pragma: export
#include "carillon/log.hpp"              // IWYU pragma: export
#include "carillon/log_record.hpp"       // IWYU pragma: export
#include "carillon/mailbox.hpp"          // IWYU pragma: export
#include "carillon/members.hpp"          // IWYU pragma: export
#include "carillon/memory.hpp"           // IWYU pragma: export
#include "carillon/mpmc_ring.hpp"        // IWYU pragma: export
#include "carillon/object_kind.hpp"      // IWYU pragma: export
#include "carillon/owned_by_block.hpp"   // IWYU pragma: export
#include "carillon/placement.hpp"        // IWYU pragma: export
#include "carillon/ring.hpp"             // IWYU pragma: export
#include "carillon/served_kernel.hpp"    // IWYU pragma: export
#include "carillon/served_library.hpp"   // IWYU pragma: export
#include "carillon/server.hpp"           // IWYU pragma: export
#include "carillon/shared_objects.hpp"   // IWYU pragma: export
#include "carillon/store.hpp"            // IWYU pragma: export
#include "carillon/stream_copy.hpp"      // IWYU pragma: export
#include "carillon/ticket.hpp"           // IWYU pragma: export
#include "carillon/wait.hpp"             // IWYU pragma: export
