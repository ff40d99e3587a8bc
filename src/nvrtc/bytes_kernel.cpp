// SPDX-License-Identifier: Apache-2.0
#include "carillon/bytes_kernel.hpp"

#include <array>
#include <cstring>

#include "carillon/detail/kernel/lease_body.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "nvrtc/handler_code.hpp"

namespace carillon::detail {
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
    KernelBlocks blocks;
    LeaseTable leases;  // of others, or without lines
    BytesFunction function;

    void operator()(unsigned block) const {
        BytesFunction own = function;
        ChannelView const view = blocks.channels.channel(block);
        BlockControl const control = blocks.control(view);
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

BytesRequests::BytesRequests(BytesType const& request_bytes, BytesType const& reply_bytes,
                             KernelOptions const& options, BytesClients of)
    : KernelOptions(options),
      request("request", request_bytes),
      reply("reply", reply_bytes),
      types{described(request, request_bytes, request.slot_lines()),
            described(reply, reply_bytes, reply.slot_lines())},
      clients(of) {}

BytesRequests::BytesRequests(Device const& device, BytesType const& request_bytes,
                             BytesType const& reply_bytes, BytesHandler handler, void* of_caller,
                             KernelOptions const& options, BytesClients of)
    : BytesRequests(request_bytes, reply_bytes, options, of) {
    if (!device.emulated()) {
        throw UnsupportedError(
            "the device is a GPU: its handlers are text (compile_handler) or C++ "
            "(PersistentKernel)");
    }
    if (handler == nullptr) throw UsageError("the handler is a null pointer");
    function = handler;
    user = of_caller;
}

BytesRequests::BytesRequests(Device const& device, CompiledHandler const& handler,
                             KernelOptions const& options, BytesClients of)
    : BytesRequests(handler.request(), handler.reply(), options, of) {
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): another constructor is called
    text = &HandlerCode::of(handler);
    text->load(device);
}

BytesRoute::BytesRoute(Device const& device, BytesRequests const& options)
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

RunningKernel BytesRoute::start(Device const& device, BytesRequests const& options,
                                Handlers<BytesServed> const& /*handlers*/) const {
    KernelBlocks const blocks = kernel_blocks(device, options, *memory_);
    LeaseTable const leases = leases_ ? leases_->device_view() : LeaseTable{};
    if (options.text != nullptr) {
        return options.text->start(device, options, {blocks, leases}, leases_ != nullptr);
    }
    BytesFunction const function{options.function, options.user, options.request.shape(),
                                 options.reply.shape()};
    return launch(device, launch_shape(options, 1), BytesBody{blocks, leases, function});
}

void BytesRoute::connect(Device const& device, BytesRequests const& options,
                         std::shared_ptr<KernelSupervisor> const& kernel) {
    if (leases_) return leases_->own(kernel);
    for (unsigned i = 0; i < blocks_of(options); ++i) {
        channels_.add(device, memory_, i, wait_, kernel, nullptr, options.request, options.reply);
    }
}

ClientList<BytesRoute::Client> const& BytesRoute::channels() const {
    if (!leases_) return channels_;
    throw UsageError(
        "the kernel is for clients in other processes, which connect to its server: for clients "
        "here, leave out of_others (C++), for_others (C) or shared=True (Python)");
}

std::shared_ptr<Lender> const& BytesRoute::leases() const {
    if (leases_) return leases_;
    throw UsageError(
        "the kernel is not for clients in other processes: make it with of_others (C++), "
        "for_others (C) or shared=True (Python)");
}

bool BytesRoute::all_answered() const {
    return leases_ ? leases_->all_drained() : channels_.all_answered();
}

bool BytesRoute::outstanding(unsigned block) const {
    return leases_ ? leases_->outstanding_at(block) : !channels_.all_answered(block, 1);
}

}  // namespace carillon::detail
