// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/counter_watch.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace carillon::detail {
namespace {

// Acquire: later loads come after it.
Sequence load_first(Sequence& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

// `taken` is read before `submitted`, since a reply is taken after its request was sent, and again
// after it, since requests are sent into the room that replies have left meanwhile.
char const* CounterWatch::look(CounterWords& words, std::uint32_t capacity) {
    Sequence const taken = load_first(words.taken);
    Sequence const submitted = load_first(words.submitted);
    return look({taken, submitted, load_first(words.taken)}, capacity);
}

char const* CounterWatch::look(Read const& read, std::uint32_t capacity) {
    char const* const found = wrong(read, capacity);
    bool const before = std::exchange(suspected_, found != nullptr);
    return before ? found : nullptr;
}

char const* CounterWatch::wrong(Read const& read, std::uint32_t capacity) {
    auto const [taken, submitted, taken_later] = read;
    bool const backwards = submitted < submitted_ || taken < taken_ || taken_later < taken;
    submitted_ = std::max(submitted_, submitted);
    taken_ = std::max(taken_, taken_later);
    if (backwards) return "its count of requests runs backwards";
    if (taken > submitted) return "it has taken more replies than it has sent requests";
    if (submitted > taken_later && submitted - taken_later > capacity) {
        return "it has more requests under way than there are slots";
    }
    return nullptr;
}

}  // namespace carillon::detail
