// SPDX-License-Identifier: Apache-2.0
// The device's end of an object that is lent to a client. The client writes any value into any word
// that it has, at any time, while leases come and go. Each look returns, hands out only what is the
// object's, and touches no other memory: the address sanitizer sees its accesses. The next lease
// can begin in any case.
#include <cstddef>
#include <cstring>
#include <vector>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/leased_ends.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t object_capacity = 4;
constexpr std::uint32_t chunk_bytes = 300;

struct Value {
    std::uint32_t word[30];
};

// Memory exactly as large as a client's.
template <class Layout>
class LentMemory {
   public:
    explicit LentMemory(ObjectShape const& shape)
        : shape_(shape),
          device_(Layout::device_bytes(shape) / sizeof(Line)),
          host_(Layout::host_bytes(shape) / sizeof(Line)) {}

    [[nodiscard]] ChannelTable place() {
        return {reinterpret_cast<std::byte*>(device_.data()),
                reinterpret_cast<std::byte*>(host_.data()),
                1,
                {},
                first_,
                nullptr,
                false};
    }
    void lay_out() {
        first_ += 1U << 21U;
        next_ = first_;
        Layout::format(Layout::view(shape_, place()));
    }
    // A word of any value, or a line that is, or is almost, one that may come next.
    void write(Input& input) {
        std::vector<Line>& lines = !host_.empty() && input.below(3) == 0 ? host_ : device_;
        Line& line = lines[input.take<std::uint16_t>() % lines.size()];
        if (input.below(2) == 0) {
            auto const word = input.take<std::uint64_t>();
            auto* const bytes = reinterpret_cast<std::byte*>(&line);
            std::memcpy(bytes + input.below(8) * sizeof(word), &word, sizeof(word));
            return;
        }
        next_ += input.below(2);
        line = with_tag(input.take<Line>(), tag_of(next_ + input.below(3)));
    }
    [[nodiscard]] bool has(std::byte const* from, std::size_t bytes) const {
        auto const* const begin = reinterpret_cast<std::byte const*>(device_.data());
        return from >= begin && from + bytes <= begin + device_.size() * sizeof(Line);
    }

   private:
    ObjectShape shape_;
    std::vector<Line> device_;
    std::vector<Line> host_;
    Sequence first_ = 1;
    Sequence next_ = 1;
};

// Lends, writes and takes back as the input says; `look` once after each.
template <class Layout, class End, class Look>
void lend(Input& input, ObjectShape const& shape, Look const& look) {
    LentMemory<Layout> memory(shape);
    LeaseLine line{};
    LeaseStatus status{};
    LeaseTable const table{&line, &status, {}};
    LeaseWriter<HostCached, HostMapped> owner(table, 0, HostCached(), HostMapped(HostStores{}));
    End end(table, 0, shape);
    while (!input.empty()) {
        std::size_t const what = input.below(8);
        if (what == 6) owner.end();
        if (what == 7 && owner.over()) {
            memory.lay_out();
            owner.begin(memory.place());
        }
        if (what < 6) memory.write(input);
        look(end, memory);
    }
    owner.end();
    for (unsigned i = 0; i < 64 && !owner.over(); ++i) look(end, memory);
    require(owner.over(), "an end leaves whatever is there");
}

// Without values of the owner's.
struct MailboxEnd : LeasedMailboxReader<Value, DeviceNear, DeviceFar> {
    MailboxEnd(LeaseTable const& table, unsigned reader, ObjectShape const& shape)
        : LeasedMailboxReader(table, reader, shape,
                              MailboxReader<Value, DeviceNear>(MailboxView{})) {}
};

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(object_words, input) {
    std::uint32_t const slot = slot_lines_of<Value>;
    switch (input.below(4)) {
        case 0:
            lend<MailboxLayout, MailboxEnd>(input, {object_capacity, mailbox_lines<Value>, 0},
                                            [](auto& end, auto& /*memory*/) {
                                                Value value{};
                                                (void)end.refresh(value);
                                            });
            break;
        case 1:
            lend<RingToDeviceLayout, LeasedConsumer<Value, DeviceNear, DeviceFar>>(
                input, {object_capacity, slot, 0}, [](auto& end, auto& /*memory*/) {
                    Value value{};
                    (void)end.try_pop(value);
                });
            break;
        case 2:
            lend<RingToHostLayout, LeasedProducer<Value, DeviceNear, DeviceFar>>(
                input, {object_capacity, slot, 0},
                [](auto& end, auto& /*memory*/) { (void)end.try_push(Value{}); });
            break;
        default:
            lend<ChunkRingLayout, LeasedChunkReader<std::uint64_t, DeviceNear, DeviceFar>>(
                input, {object_capacity, 1, chunk_bytes}, [](auto& end, auto& memory) {
                    ChunkView<std::uint64_t> chunk{};
                    if (!end.try_take(chunk)) return;
                    require(chunk.size <= chunk_bytes && memory.has(chunk.data, chunk.size),
                            "a chunk is the ring's");
                    (void)end.release(chunk.sequence);
                });
    }
}
