// SPDX-License-Identifier: Apache-2.0
// The ends of the two kinds of ring. The device's ends are trivially copyable: pass them to a
// kernel by value. One thread uses each.
#pragma once

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/protocol/ring_pages.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

#if !defined(__CUDACC_RTC__)
#include "carillon/detail/access/host_near_far.hpp"
#endif

namespace carillon::detail {

// A device polls the pages that are near it.
using NearPages = ChosenPages<NearestPage>;

#if !defined(__CUDACC_RTC__)
template <class T>
using HostProducer = Producer<T, HostMapped, HostCached, NoDoorbell, OneThread, ToldPages>;
template <class T>
using HostConsumer = Consumer<T, HostCached, HostMapped>;
#endif
template <class T>
using DeviceProducer = Producer<T, DeviceFar, DeviceNear>;
template <class T>
using DeviceConsumer = Consumer<T, DeviceNear, DeviceFar, OneThread, NearPages>;

// A channel's ends on the device.
template <class Request, class Reply, NearAccess Near = DeviceNear, FarAccess Far = DeviceFar,
          class Pages = NearPages>
struct DeviceChannel {
    using RequestMessage = Request;
    using ReplyMessage = Reply;

    Consumer<Request, Near, Far, OneThread, Pages> requests;
    Producer<Reply, Far, Near> replies;

    CARILLON_HD DeviceChannel(RingView const& request_ring, RingView const& reply_ring,
                              Near near = Near(), Far far = Far())
        : requests(request_ring, near, far), replies(reply_ring, far, near) {}
};

}  // namespace carillon::detail
