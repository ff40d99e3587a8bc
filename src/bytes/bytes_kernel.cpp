// SPDX-License-Identifier: Apache-2.0
#include "carillon/kernel.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "bytes/handler_code.hpp"
#include "carillon/bytes_kernel.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_leases.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/message_at.hpp"

namespace carillon {
namespace detail {

// The options of a BytesKernel, with its messages and how they reach it.
struct BytesRequests : KernelOptions {
    BytesRequests(BytesType const& request_type, BytesType const& reply_type, BytesClients of,
                  KernelOptions const& options)
        : KernelOptions(options),
          request("request", request_type),
          reply("reply", reply_type),
          types{described(request, request_type, request.slot_lines()),
                described(reply, reply_type, reply.slot_lines())},
          clients(of) {}

    MessageOf<Bytes> request;
    MessageOf<Bytes> reply;
    MessageTypes types;
    BytesClients clients;
    HandlerCode* text = nullptr;  // none: a function
};

namespace {

// A block's handler: it calls the caller's function with a request that was copied for it.
struct BytesFunction {
    // The function may write whatever the reply is about.
    static constexpr bool out_of_line = true;

    BytesHandler function = nullptr;
    void* user = nullptr;
    ByteShape request_shape{};
    ByteShape reply_shape{};
    std::array<std::byte, message_bytes> request{};
    std::array<std::byte, message_bytes> reply{};

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
    Handlers<BytesFunction> handlers;
    BlockLimits limits;
    bool oversubscribed;

    void operator()(unsigned block) const {
        BytesFunction own = handlers.begin(block);
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

}  // namespace

inline namespace CARILLON_TOOLCHAIN {

template <>
class Route<BytesFunction, BytesRequests> {
   public:
    using Client = Channel<Bytes, Bytes>;

    Route(Device const& device, BytesRequests const& options)
        : wait_(wait_of_clients(device, options)) {
        ChannelShape const shape{options.capacity, options.request.slot_lines(),
                                 options.reply.slot_lines()};
        if (options.clients == BytesClients::of_others) {
            leases_ = std::make_shared<Lender>(device, options, shape, options.types);
            memory_ = leases_->blocks();
        } else {
            check_options(options);
            memory_ = std::make_shared<ChannelMemory>(device, blocks_of(options), shape);
        }
    }
    Route(Route&&) noexcept = default;
    Route& operator=(Route&&) = delete;
    Route(Route const&) = delete;
    Route& operator=(Route const&) = delete;
    ~Route() {
        if (leases_ && leases_->kernel()) leases_->kernel()->end();
    }

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return memory_; }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static bool lanes_apart() { return false; }

    [[nodiscard]] RunningKernel start(Device const& device, BytesRequests const& options,
                                      Handlers<BytesFunction> const& handlers) const {
        ChannelTable const channels = memory_->device_view();
        LeaseTable const leases = leases_ ? leases_->device_view() : LeaseTable{};
        BlockLimits const limits = block_limits(options, device.traits());
        bool const oversubscribed = device.oversubscribed(blocks_of(options));
        if (options.text == nullptr) {
            return launch(device, launch_shape(options, 1),
                          BytesBody{channels, leases, handlers, limits, oversubscribed});
        }
        TextKernel const kernel{channels, leases, limits, oversubscribed,
                                blocks_of(options) >= many_blocks};
        return options.text->start(device, options, kernel, leases_ != nullptr);
    }
    void connect(Device const& device, BytesRequests const& options,
                 std::shared_ptr<KernelSupervisor> const& kernel) {
        if (leases_) return leases_->own(kernel);
        for (unsigned i = 0; i < blocks_of(options); ++i) {
            channels_.add(device, memory_, i, wait_, kernel, nullptr, options.request,
                          options.reply);
        }
    }

    [[nodiscard]] ClientList<Client> const& channels() const {
        if (!leases_) return channels_;
        throw UsageError("its clients are other processes', which connect to its server");
    }
    [[nodiscard]] std::shared_ptr<Lender> const& leases() const {
        if (leases_) return leases_;
        throw UsageError(
            "the kernel is not for clients of other processes: of_others (C++), for_others (C) or "
            "shared=True (Python) makes it so");
    }
    [[nodiscard]] bool all_answered() const {
        return leases_ ? leases_->all_drained() : channels_.all_answered();
    }
    [[nodiscard]] bool outstanding(unsigned block) const {
        return leases_ ? leases_->outstanding_at(block) : !channels_.all_answered(block, 1);
    }

   private:
    HostWait wait_;
    std::shared_ptr<Lender> leases_;  // of others
    std::shared_ptr<ChannelMemory> memory_;
    ClientList<Client> channels_;  // of each block, but of others
};

}  // namespace CARILLON_TOOLCHAIN

class BytesKernelState : public PersistentKernel<BytesFunction, BytesRequests> {
   public:
    using PersistentKernel::PersistentKernel;
};

namespace {

[[nodiscard]] std::unique_ptr<BytesKernelState> start_function(Device const& device,
                                                               BytesRequests const& options,
                                                               BytesHandler handler, void* user) {
    if (!device.emulated()) {
        throw UnsupportedError(
            "the device is a GPU, whose handlers are text (compile_handler) or C++ "
            "(PersistentKernel)");
    }
    if (handler == nullptr) throw UsageError("there is no handler");
    BytesFunction const function{handler, user, options.request.shape(), options.reply.shape()};
    return std::make_unique<BytesKernelState>(device, options, function);
}

[[nodiscard]] std::unique_ptr<BytesKernelState> start_text(Device const& device, HandlerCode& code,
                                                           KernelOptions const& options,
                                                           BytesClients clients) {
    code.load(device);
    BytesRequests requests(code.request, code.reply, clients, options);
    requests.text = &code;
    return std::make_unique<BytesKernelState>(device, requests);
}

// Returns what `call` returns for the kernel.
template <class Call>
decltype(auto) in_kernel(char const* name, std::unique_ptr<BytesKernelState> const& state,
                         Call const& call) {
    return in_call(name, [&]() -> decltype(auto) { return call(owned(state)); });
}

}  // namespace
}  // namespace detail

BytesKernel::BytesKernel(Device const& device, BytesType const& request, BytesType const& reply,
                         BytesHandler handler, void* user, KernelOptions const& options,
                         BytesClients clients) try
    : state_(detail::start_function(device, {request, reply, clients, options}, handler, user)) {
} catch (...) {
    detail::throw_named("BytesKernel");
}
BytesKernel::BytesKernel(Device const& device, CompiledHandler const& handler,
                         KernelOptions const& options, BytesClients clients) try
    : state_(detail::start_text(device, detail::HandlerCode::of(handler), options, clients)) {
} catch (...) {
    detail::throw_named("BytesKernel");
}
BytesKernel::BytesKernel(BytesKernel&&) noexcept = default;
BytesKernel::~BytesKernel() = default;

Channel<Bytes, Bytes>& BytesKernel::client(unsigned block) {
    return detail::in_kernel(
        "BytesKernel::client",
        state_, [&](auto& kernel) -> auto& { return kernel.channel(block); });
}
Server BytesKernel::serve(PathArgument const& path, ServeOptions const& options,
                          NameArgument name) const {
    return detail::in_kernel("BytesKernel::serve", state_,
                             [&](auto& kernel) { return kernel.serve(path, options, name); });
}
void BytesKernel::serve(Server& server, NameArgument name) const {
    detail::in_kernel("BytesKernel::serve", state_,
                      [&](auto& kernel) { kernel.serve(server, name); });
}
unsigned BytesKernel::blocks() const {
    return detail::in_kernel("BytesKernel::blocks", state_,
                             [](auto& kernel) { return kernel.blocks(); });
}
KernelState BytesKernel::state() const {
    return detail::in_kernel("BytesKernel::state", state_,
                             [](auto& kernel) { return kernel.state(); });
}
BlockActivity BytesKernel::activity(unsigned block) const {
    return detail::in_kernel("BytesKernel::activity", state_,
                             [&](auto& kernel) { return kernel.activity(block); });
}
bool BytesKernel::running() const {
    return detail::in_kernel("BytesKernel::running", state_,
                             [](auto& kernel) { return kernel.running(); });
}
void BytesKernel::drain(std::chrono::nanoseconds timeout) {
    detail::in_kernel("BytesKernel::drain", state_, [&](auto& kernel) { kernel.drain(timeout); });
}
void BytesKernel::stop(std::chrono::nanoseconds timeout) {
    detail::in_kernel("BytesKernel::stop", state_, [&](auto& kernel) { kernel.stop(timeout); });
}

}  // namespace carillon
