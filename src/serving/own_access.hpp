// SPDX-License-Identifier: Apache-2.0
// How a process reaches a store of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving/buffer_access.hpp"
#include "serving/buffer_table.hpp"

namespace carillon::detail {

// To a store of this process.
class OwnAccess final : public BufferAccess, public std::enable_shared_from_this<OwnAccess> {
   public:
    OwnAccess(std::shared_ptr<BufferTable> table, unsigned copy_threads);

    [[nodiscard]] std::shared_ptr<BufferHold> create(std::string const& name,
                                                     std::size_t bytes) override;
    [[nodiscard]] std::shared_ptr<BufferHold> get(BufferKey const& key) override;
    void remove(BufferKey const& key) override;
    [[nodiscard]] std::vector<BufferInfo> list() override;
    [[nodiscard]] std::unique_ptr<SealedSource> sealed_events() override;
    [[nodiscard]] std::unique_ptr<LentSource> sealed_buffers() override;
    [[nodiscard]] CopyTeam& team() override { return *team_; }
    void seal(std::uint64_t id, std::function<void()> const& meanwhile) override;
    void release(std::uint64_t id) noexcept override;

   private:
    [[nodiscard]] std::shared_ptr<BufferHold> make_hold_of(HeldBuffer const& lent, BufferUse use);

    std::shared_ptr<BufferTable> table_;
    BufferUser self_;
    std::shared_ptr<CopyTeam> team_;
};

}  // namespace carillon::detail
