// SPDX-License-Identifier: Apache-2.0
// GET /metrics by HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace carillon::tool {

// Serves the result of `text` at http://HOST:PORT/metrics until it is destroyed. One thread serves
// all connections; another one calls `text`, once for all requests that wait meanwhile.
class MetricsEndpoint {
   public:
    // `where`: HOST:PORT, with [HOST] for IPv6; of a name its first address; without HOST: every
    // address, of IPv4 alone where there is no IPv6; port 0: any free one.
    // Throws UsageError for another form, SystemError if the address cannot be listened at, Error
    // if HOST has no address.
    MetricsEndpoint(std::string const& where, std::function<std::string()> text);
    MetricsEndpoint(MetricsEndpoint const&) = delete;
    MetricsEndpoint& operator=(MetricsEndpoint const&) = delete;
    // Closes every connection. Waits for a call of `text` that has begun.
    ~MetricsEndpoint();

    [[nodiscard]] std::string const& address() const;  // http://HOST:PORT/metrics

   private:
    class Server;
    std::unique_ptr<Server> server_;
};

}  // namespace carillon::tool
