// SPDX-License-Identifier: Apache-2.0
#include "carillon/mailbox.hpp"

#include <cstring>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "bytes/bytes_channel.hpp"
#include "bytes/value_access.hpp"
#include "carillon/bytes.hpp"
#include "carillon/detail/host/owned.hpp"
#include "error/range.hpp"

namespace carillon {
namespace detail {
namespace {

using BytesWriter = MailboxWriter<MessageAt, ValueFar<HostMapped>>;
using BytesReader = MailboxReader<MessageAt, ValueNear<HostCached>>;

constexpr std::string_view call_of_bytes_mailbox = "BytesMailbox";

ValueShape checked_value(std::size_t bytes) {
    require_bytes(call_of_bytes_mailbox, "value", bytes, 1, largest_mailbox_value);
    return {bytes};
}
ValueShape checked_initial(std::span<std::byte const> value) {
    require_bytes_there(call_of_bytes_mailbox, value);
    return checked_value(value.size());
}
LeasedEnd<MailboxView> attach_mailbox(Connection const& connection, std::string_view object,
                                      BytesType const& type, Direction direction) {
    return BytesAttach::mailbox(
        connection, object,
        type_of_bytes(call_of_bytes_mailbox, "value", type, checked_value(type.bytes).lines()),
        direction == Direction::to_device);
}
void require_value(std::string_view call, std::span<std::byte const> value, ValueShape shape) {
    require_one(call, "value", value, {shape.bytes});
}

// Takes the newest value, if it is new.
template <class Reader>
bool refresh_value(Reader& reader, std::span<std::byte> value) {
    MessageAt found;
    if (!reader.refresh(found)) return false;
    std::memcpy(value.data(), found.where, value.size());
    return true;
}

}  // namespace

// The host's end, as Mailbox has it.
class BytesMailboxState {
   public:
    BytesMailboxState(Device const& device, std::span<std::byte const> initial, Direction direction,
                      MailboxOptions const& options)
        : shape_(checked_initial(initial)),
          slots_(checked(options).capacity),
          first_(options.for_tests.first),
          emulated_(device.emulated()),
          memory_(direction == Direction::to_device ? device.allocate(size())
                                                    : device.allocate_host(size())),
          room_(shape_.room()),
          end_(made_end(device, initial, direction)) {}
    BytesMailboxState(ValueShape shape, Direction direction, LeasedEnd<MailboxView> const& lent)
        : shape_(shape),
          lent_by_(lent.lease),
          room_(shape.room()),
          end_(end_of(direction, lent.view, lent.far)) {}
    BytesMailboxState(BytesMailboxState const&) = delete;
    BytesMailboxState& operator=(BytesMailboxState const&) = delete;

    [[nodiscard]] ValueShape shape() const { return shape_; }
    [[nodiscard]] Direction direction() const {
        return end_.index() == 0 ? Direction::to_device : Direction::to_host;
    }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }
    // Throws as LentBy::require_there().
    void require_there(std::string_view call) const { lent_by_.require_there(call); }
    // Throw UsageError for a mailbox of the other direction, ForkError.
    [[nodiscard]] BytesWriter& writer(std::string_view call) {
        mark_.require_own(call);
        if (auto* const end = std::get_if<BytesWriter>(&end_)) return *end;
        throw UsageError(call, "the mailbox is to the host: this side reads");
    }
    [[nodiscard]] BytesReader& reader(std::string_view call) {
        mark_.require_own(call);
        if (auto* const end = std::get_if<BytesReader>(&end_)) return *end;
        throw UsageError(call, "the mailbox is to the device: this side sets");
    }

    // The mailbox at the device's addresses, whose writer is given out once.
    [[nodiscard]] MailboxView take_device_view(std::string_view call, CodeLocation const& where) {
        lent_by_.require_own_end(call);
        if (!emulated_) {
            throw UnsupportedError(call,
                                   "the device is a GPU: its kernels are C++, and have types");
        }
        MailboxView view = view_at(memory_.device_ptr());
        if (direction() == Direction::to_host) {
            taken_.take(call, where, {});
            ++view.first;  // after the initial value
        }
        return view;
    }

   private:
    using HostEnd = std::variant<BytesWriter, BytesReader>;

    static MailboxOptions const& checked(MailboxOptions const& options) {
        check_capacity("Mailbox", options.capacity);
        check_first("Mailbox", options.for_tests.first);
        return options;
    }
    // As Mailbox has them: a line for `newest`, and the slots.
    [[nodiscard]] std::size_t size() const {
        return (1 + std::size_t{slots_} * shape_.lines()) * sizeof(Line);
    }
    [[nodiscard]] MailboxView view_at(void* begin) const {
        auto* const lines = static_cast<Line*>(begin);
        return {lines + 1, &lines->quads[0].low, slots_, shape_.lines(), first_};
    }

    [[nodiscard]] HostEnd made_end(Device const& device, std::span<std::byte const> initial,
                                   Direction direction) {
        MailboxView const view = view_at(memory_.host_ptr());
        format_mailbox(view);
        memory_.flush(0, memory_.size());
        HostStores stores = device.stores();
        stores.mode = PublishMode::one_step;  // every word carries its tag
        if (direction == Direction::to_host) {
            stores.kind = StoreKind::cached;  // the CPU's own memory
            BytesWriter(view, {HostMapped(stores), shape_}).set({initial.data()});
        }
        HostEnd end = end_of(direction, view, device.access(memory_, stores));
        if (auto* const writer = std::get_if<BytesWriter>(&end)) writer->set({initial.data()});
        return end;
    }
    [[nodiscard]] HostEnd end_of(Direction direction, MailboxView const& view,
                                 HostMapped const& far) {
        if (direction == Direction::to_device) {
            return HostEnd(std::in_place_type<BytesWriter>, view, ValueFar(far, shape_));
        }
        return HostEnd(std::in_place_type<BytesReader>, view,
                       ValueNear(HostCached(), shape_, room_.data()));
    }

    ProcessMark mark_;
    ValueShape shape_;
    LentBy lent_by_;
    // None of these of a mailbox that is lent.
    std::uint32_t slots_ = 0;
    Sequence first_ = 0;
    bool emulated_ = false;
    Memory memory_;

    std::vector<std::byte> room_;
    HostEnd end_;
    TakenOnce taken_;
};

}  // namespace detail

struct BytesMailboxEnd::Ends {
    using Reading = detail::MailboxReader<detail::MessageAt, detail::ValueNear<detail::DeviceNear>>;
    using Setting = detail::MailboxWriter<detail::MessageAt, detail::ValueFar<detail::DeviceFar>>;
    using End = std::variant<Reading, Setting>;

    Ends(std::shared_ptr<detail::BytesMailboxState> of, detail::MailboxView const& view)
        : mailbox(std::move(of)),
          room(mailbox->shape().room()),
          end(mailbox->direction() == Direction::to_device
                  ? End(std::in_place_type<Reading>, view,
                        detail::ValueNear(detail::DeviceNear(), mailbox->shape(), room.data()))
                  : End(std::in_place_type<Setting>, view,
                        detail::ValueFar(detail::DeviceFar(), mailbox->shape()))) {}

    std::shared_ptr<detail::BytesMailboxState> mailbox;
    std::vector<std::byte> room;
    End end;
};

BytesMailboxEnd::BytesMailboxEnd(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}
BytesMailboxEnd::BytesMailboxEnd(BytesMailboxEnd&&) noexcept = default;
BytesMailboxEnd& BytesMailboxEnd::operator=(BytesMailboxEnd&&) noexcept = default;
BytesMailboxEnd::~BytesMailboxEnd() = default;

void BytesMailboxEnd::set(std::span<std::byte const> value) {
    constexpr std::string_view call = "BytesMailboxEnd::set";
    Ends& ends = detail::owned(ends_, call);
    detail::OneThreadCall<> const one(&ends, call);
    ends.mailbox->mark().require_own(call);
    detail::require_value(call, value, ends.mailbox->shape());
    auto* const end = std::get_if<Ends::Setting>(&ends.end);
    if (end == nullptr) throw UsageError(call, "the mailbox is to the device: this side reads");
    end->set({value.data()});
}

bool BytesMailboxEnd::refresh(std::span<std::byte> value) {
    constexpr std::string_view call = "BytesMailboxEnd::refresh";
    Ends& ends = detail::owned(ends_, call);
    detail::OneThreadCall<> const one(&ends, call);
    ends.mailbox->mark().require_own(call);
    detail::require_value(call, value, ends.mailbox->shape());
    auto* const end = std::get_if<Ends::Reading>(&ends.end);
    if (end == nullptr) throw UsageError(call, "the mailbox is to the host: this side sets");
    return detail::refresh_value(*end, value);
}

BytesMailbox::BytesMailbox(Device const& device, std::span<std::byte const> initial,
                           Direction direction, MailboxOptions const& options)
    : state_(std::make_shared<detail::BytesMailboxState>(device, initial, direction, options)) {}
BytesMailbox::BytesMailbox(Connection const& connection, NameArgument object, BytesType const& type,
                           Direction direction)
    : state_(std::make_shared<detail::BytesMailboxState>(
          detail::ValueShape{type.bytes}, direction,
          detail::attach_mailbox(connection, object, type, direction))) {}
BytesMailbox::BytesMailbox(BytesMailbox&&) noexcept = default;
BytesMailbox& BytesMailbox::operator=(BytesMailbox&&) noexcept = default;
BytesMailbox::~BytesMailbox() = default;

detail::BytesMailboxState& BytesMailbox::state(std::string_view call) const {
    return detail::owned(state_, call);
}

void BytesMailbox::set(std::span<std::byte const> value, OutOfLine data) {
    constexpr std::string_view call = "BytesMailbox::set";
    detail::BytesMailboxState& mailbox = state(call);
    detail::OneThreadCall<> const one(&mailbox, call);
    detail::require_value(call, value, mailbox.shape());
    auto& writer = mailbox.writer(call);
    mailbox.require_there(call);
    writer.set({value.data()}, data);
}

bool BytesMailbox::refresh(std::span<std::byte> value) {
    constexpr std::string_view call = "BytesMailbox::refresh";
    detail::BytesMailboxState& mailbox = state(call);
    detail::OneThreadCall<> const one(&mailbox, call);
    detail::require_value(call, value, mailbox.shape());
    if (detail::refresh_value(mailbox.reader(call), value)) return true;
    mailbox.require_there(call);
    return false;
}

BytesMailboxEnd BytesMailbox::emulated_end() {
    constexpr std::string_view call = "BytesMailbox::emulated_end";
    detail::MailboxView const view =
        state(call).take_device_view(call, detail::CodeLocation::elsewhere());
    return BytesMailboxEnd(std::make_unique<BytesMailboxEnd::Ends>(state_, view));
}

std::size_t BytesMailbox::value_bytes() const {
    return state("BytesMailbox::value_bytes").shape().bytes;
}
Direction BytesMailbox::direction() const { return state("BytesMailbox::direction").direction(); }

}  // namespace carillon
