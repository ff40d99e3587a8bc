// SPDX-License-Identifier: Apache-2.0
// GET /metrics by HTTP.
#pragma once

#include <poll.h>

#include <carillon/memory.hpp>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "metrics/http_visit.hpp"

namespace carillon::tool {

// Serves what `text` gives at http://HOST:PORT/metrics for as long as it is there. One thread polls
// all connections and calls `text`, which throws nothing.
class MetricsEndpoint {
   public:
    // `where`: HOST:PORT, with [HOST] for IPv6; without HOST: every address; port 0: any that is
    // free. Throws UsageError for another form, SystemError where nobody can listen there, Error
    // where HOST has no address.
    MetricsEndpoint(std::string const& where, std::function<std::string()> text);
    MetricsEndpoint(MetricsEndpoint const&) = delete;
    MetricsEndpoint& operator=(MetricsEndpoint const&) = delete;
    // Closes every connection.
    ~MetricsEndpoint();

    [[nodiscard]] std::string const& address() const { return address_; }

   private:
    void serve(std::stop_token const& stop);
    void take_turn();
    [[nodiscard]] std::vector<::pollfd> watched() const;
    void accept_all();
    // One of those that have asked for nothing, if there is one: the oldest.
    void make_room();
    void answer_all();

    std::function<std::string()> text_;
    FileDescriptor listener_;
    FileDescriptor wakeup_;  // an eventfd
    std::string address_;    // http://HOST:PORT/metrics
    std::vector<HttpVisit> visits_;
    std::jthread thread_;
};

}  // namespace carillon::tool
