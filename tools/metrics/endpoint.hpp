// SPDX-License-Identifier: Apache-2.0
// GET /metrics by HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace carillon::tool {

// Serves what `text` gives at http://HOST:PORT/metrics for as long as it is there. `text` is called
// by one thread at a time, and throws nothing.
class MetricsEndpoint {
   public:
    // `where`: HOST:PORT, with [HOST] for IPv6; port 0: any that is free. Throws UsageError for
    // another form, SystemError where nobody can listen there, and UnsupportedError in a build
    // without a library for HTTP.
    MetricsEndpoint(std::string const& where, std::function<std::string()> text);
    MetricsEndpoint(MetricsEndpoint const&) = delete;
    MetricsEndpoint& operator=(MetricsEndpoint const&) = delete;
    ~MetricsEndpoint();

    [[nodiscard]] std::string const& address() const;  // http://HOST:PORT/metrics

   private:
    struct Server;
    std::unique_ptr<Server> server_;
};

}  // namespace carillon::tool
