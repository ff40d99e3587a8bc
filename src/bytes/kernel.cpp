// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "bytes/bytes_channel.hpp"
#include "bytes/handler_code.hpp"
#include "bytes/message_access.hpp"
#include "carillon/bytes.hpp"
#include "carillon/detail/host/channel_routes.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_leases.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/launch.hpp"

namespace carillon {
namespace detail {
namespace {

constexpr std::string_view call_of_bytes_kernel = "BytesKernel";

// A block's handler: it calls the caller's function with a request that was copied for it.
struct BytesFunction {
    // The function may write whatever the reply is about.
    static constexpr bool out_of_line = true;

    BytesHandler function;
    void* user;
    ByteShape request_shape;
    ByteShape reply_shape;
    std::array<std::byte, message_bytes> request;
    std::array<std::byte, message_bytes> reply;

    MessageAt operator()(MessageAt message) {
        MessageNear<DeviceNear>(DeviceNear(), request_shape).copy(message, request.data());
        std::memset(reply.data(), 0, reply_shape.bytes);
        function(user, request.data(), reply.data());
        return {reply.data()};
    }
};

using BytesDeviceChannel =
    DeviceChannel<MessageAt, MessageAt, MessageNear<DeviceNear>, MessageFar<DeviceFar>, FirstPages>;

// Serves one channel, or the channels that are lent.
struct BytesBody {
    ChannelTable blocks;
    LeaseTable leases;  // of others, or without lines
    BytesFunction function;
    BlockLimits limits;
    bool oversubscribed;

    void operator()(unsigned block) const {
        BytesFunction own = function;
        ChannelView const view = blocks.channel(block);
        BlockControl const control = limits.control(view, DeviceClock(oversubscribed));
        auto const serve_one = [&](ChannelView const& channel, auto const& life) {
            serve(BytesDeviceChannel(channel.requests, channel.replies,
                                     MessageNear<DeviceNear>(DeviceNear(), own.request_shape),
                                     MessageFar<DeviceFar>(DeviceFar(), own.reply_shape)),
                  own, life);
        };
        if (leases.lines == nullptr) return serve_one(view, control);
        serve_leases(control, LeaseReader<DeviceNear, DeviceFar>(leases, block), OneThread(),
                     serve_one, [] {});
    }
};

[[nodiscard]] BytesFunction checked_function(Device const& device, BytesType const& request,
                                             BytesType const& reply, BytesHandler handler,
                                             void* user) {
    if (!device.emulated()) {
        throw UnsupportedError(call_of_bytes_kernel,
                               "the device is a GPU, whose handlers are text (compile_handler) or "
                               "C++ (PersistentKernel)");
    }
    if (handler == nullptr) throw UsageError(call_of_bytes_kernel, "there is no handler");
    return {handler,
            user,
            checked_shape(call_of_bytes_kernel, "request", request.bytes),
            checked_shape(call_of_bytes_kernel, "reply", reply.bytes),
            {},
            {}};
}

}  // namespace

// How a kernel is started once it has memory: on the channels of its blocks, or on those that are
// lent.
using BytesStart = std::function<RunningKernel(ChannelTable const&, LeaseTable const&)>;

class BytesKernelState {
   public:
    BytesKernelState(Device const& device, BytesType const& request, BytesType const& reply,
                     BytesStart const& start, KernelOptions const& options, BytesClients clients)
        : request_shape_(checked_shape(call_of_bytes_kernel, "request", request.bytes)),
          reply_shape_(checked_shape(call_of_bytes_kernel, "reply", reply.bytes)),
          wait_(wait_of_clients(device, options)) {
        MessageTypes const types{message_type(call_of_bytes_kernel, "request", request),
                                 message_type(call_of_bytes_kernel, "reply", reply)};
        ChannelShape const shape{options.capacity, request_shape_.slot_lines(),
                                 reply_shape_.slot_lines()};
        LeaseTable table{};
        if (clients == BytesClients::of_others) {
            leases_ = std::make_shared<Lender>(device, options, shape, types);
            memory_ = leases_->blocks();
            table = leases_->device_view();
        } else {
            check_options(call_of_bytes_kernel, options);
            memory_ = std::make_shared<ChannelMemory>(device, blocks_of(options), shape);
        }
        supervisor_ = KernelSupervisor::make(device, memory_, options, "BytesKernel");
        supervisor_->run(start(memory_->device_view(), table));
        if (leases_) leases_->own(supervisor_);
        if (!leases_) connect(device, blocks_of(options));
    }
    BytesKernelState(BytesKernelState const&) = delete;
    BytesKernelState& operator=(BytesKernelState const&) = delete;
    ~BytesKernelState() {
        if (leases_ && leases_->kernel()) leases_->kernel()->end();
    }

    [[nodiscard]] KernelSupervisor& supervisor(std::string_view call) const {
        return supervisor_->of_this_process(call);
    }
    [[nodiscard]] BytesClient& client(std::string_view call, unsigned block) {
        if (leases_) {
            throw UsageError(call, "its clients are other processes', which connect to its server");
        }
        if (block >= clients_.size()) throw UsageError(call, "there is no such channel");
        return clients_[block];
    }
    [[nodiscard]] std::shared_ptr<Lender> const& leases(std::string_view call) const {
        if (!leases_)
            throw UsageError(call,
                             "the kernel is not for clients of other processes: of_others (C++), "
                             "for_others (C) or shared=True (Python) makes it so");
        return leases_;
    }
    [[nodiscard]] bool all_answered() const {
        if (leases_) return leases_->all_drained();
        return std::ranges::all_of(clients_,
                                   [](BytesClient const& each) { return each.all_answered(); });
    }
    [[nodiscard]] bool outstanding(unsigned block) const {
        return leases_ ? leases_->outstanding_at(block) : !clients_[block].all_answered();
    }

   private:
    void connect(Device const& device, unsigned blocks) {
        for (unsigned i = 0; i < blocks; ++i) {
            clients_.push_back(BytesClient(std::make_unique<BytesChannel>(
                request_shape_, reply_shape_, device, memory_, i, wait_, supervisor_)));
        }
    }

    ByteShape request_shape_;
    ByteShape reply_shape_;
    HostWait wait_;
    std::shared_ptr<Lender> leases_;  // of others
    std::shared_ptr<ChannelMemory> memory_;
    std::shared_ptr<KernelSupervisor> supervisor_;
    std::vector<BytesClient> clients_;  // of each block, but of others
};

namespace {

[[nodiscard]] std::unique_ptr<BytesKernelState> start_function(
    Device const& device, BytesType const& request, BytesType const& reply,
    BytesFunction const& function, KernelOptions const& options, BytesClients clients) {
    auto const start = [&](ChannelTable const& blocks, LeaseTable const& leases) {
        BytesBody const body{blocks, leases, function, block_limits(options, device.traits()),
                             device.oversubscribed(blocks_of(options))};
        return launch(device, launch_shape(options, 1), body);
    };
    return std::make_unique<BytesKernelState>(device, request, reply, start, options, clients);
}

[[nodiscard]] std::unique_ptr<BytesKernelState> start_text(Device const& device, HandlerCode& code,
                                                           KernelOptions const& options,
                                                           BytesClients clients) {
    code.load(call_of_bytes_kernel, device);
    auto const start = [&](ChannelTable const& blocks, LeaseTable const& leases) {
        TextKernel const kernel{blocks, leases, block_limits(options, device.traits()),
                                device.oversubscribed(blocks_of(options)),
                                blocks_of(options) >= many_blocks};
        return code.start(device, options, kernel, clients == BytesClients::of_others);
    };
    return std::make_unique<BytesKernelState>(device, code.request, code.reply, start, options,
                                              clients);
}

}  // namespace
}  // namespace detail

BytesKernel::BytesKernel(Device const& device, BytesType const& request, BytesType const& reply,
                         BytesHandler handler, void* user, KernelOptions const& options,
                         BytesClients clients)
    : state_(detail::start_function(device, request, reply,
                                    detail::checked_function(device, request, reply, handler, user),
                                    options, clients)) {}
BytesKernel::BytesKernel(Device const& device, CompiledHandler const& handler,
                         KernelOptions const& options, BytesClients clients)
    : state_(detail::start_text(device, detail::HandlerCode::of(handler), options, clients)) {}
BytesKernel::BytesKernel(BytesKernel&&) noexcept = default;
BytesKernel::~BytesKernel() = default;

detail::BytesKernelState& BytesKernel::state(std::string_view call) const {
    return detail::owned(state_, call);
}

BytesClient& BytesKernel::client(unsigned block) {
    constexpr std::string_view call = "BytesKernel::client";
    return state(call).client(call, block);
}

Server BytesKernel::serve(PathArgument const& path, ServeOptions const& options) const {
    constexpr std::string_view call = "BytesKernel::serve";
    (void)state(call).supervisor(call);
    return detail::ServerMaker::make(path, state(call).leases(call), options);
}

void BytesKernel::serve(Server& server, NameArgument name) const {
    constexpr std::string_view call = "BytesKernel::serve";
    (void)state(call).supervisor(call);
    detail::ServerMaker::add(server, name, state(call).leases(call));
}

unsigned BytesKernel::blocks() const {
    constexpr std::string_view call = "BytesKernel::blocks";
    return state(call).supervisor(call).blocks();
}

KernelState BytesKernel::state() const {
    constexpr std::string_view call = "BytesKernel::state";
    return state(call).supervisor(call).state();
}

BlockActivity BytesKernel::activity(unsigned block) const {
    constexpr std::string_view call = "BytesKernel::activity";
    detail::BytesKernelState& kernel = state(call);
    kernel.supervisor(call).require_block("activity", block);
    return kernel.supervisor(call).activity(block, kernel.outstanding(block));
}

bool BytesKernel::running() const {
    constexpr std::string_view call = "BytesKernel::running";
    return state(call).supervisor(call).running();
}

void BytesKernel::drain(std::chrono::nanoseconds timeout) {
    constexpr std::string_view call = "BytesKernel::drain";
    detail::BytesKernelState& kernel = state(call);
    kernel.supervisor(call).drain([&] { return kernel.all_answered(); }, timeout);
}

void BytesKernel::stop(std::chrono::nanoseconds timeout) {
    constexpr std::string_view call = "BytesKernel::stop";
    state(call).supervisor(call).stop(timeout);
}

}  // namespace carillon
