// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace c = carillon::c;

extern "C" {

carillon_status carillon_chunk_ring_create(carillon_device const* device, uint32_t meta_bytes,
                                           uint64_t chunk_bytes, uint32_t chunks,
                                           carillon_chunk_ring** ring) {
    return c::open("carillon_chunk_ring_create", ring, [&] {
        carillon::ChunkRingOptions options;
        options.chunk_bytes = chunk_bytes;
        if (chunks != 0) options.chunks = chunks;
        return carillon::ChunkRing<carillon::Bytes>(c::checked(device, "device").device, meta_bytes,
                                                    options);
    });
}
carillon_status carillon_connection_chunk_ring(carillon_connection const* connection,
                                               char const* object, carillon_type meta,
                                               carillon_chunk_ring** ring) {
    return c::open("carillon_connection_chunk_ring", ring, [&] {
        return c::checked(connection, "connection")
            .connection.chunk_ring<carillon::Bytes>(&c::checked(object, "name"), c::type_of(meta));
    });
}
void carillon_chunk_ring_close(carillon_chunk_ring** ring) { c::close(ring); }

carillon_status carillon_chunk_ring_get_info(carillon_chunk_ring const* ring,
                                             carillon_chunk_ring_info* info) {
    return c::guarded("carillon_chunk_ring_get_info", [&] {
        auto const& of = c::checked(ring, "ring").ring;
        c::tell(carillon_chunk_ring_info{0, static_cast<std::uint32_t>(of.meta_bytes()),
                                         of.chunks(), of.chunk_bytes()},
                info);
    });
}
carillon_status carillon_chunk_ring_claim(carillon_chunk_ring* ring, int64_t timeout_ns,
                                          carillon_chunk** chunk) {
    return c::guarded("carillon_chunk_ring_claim", [&] {
        c::checked(chunk, "output for the handle") = nullptr;
        auto& of = c::checked(ring, "ring").ring;
        if (timeout_ns != 0) {
            *chunk = new carillon_chunk{of.claim(std::chrono::nanoseconds(timeout_ns))};
        } else if (auto claimed = of.try_claim()) {
            *chunk = new carillon_chunk{std::move(*claimed)};
        }
        return c::now(*chunk != nullptr);
    });
}

carillon_status carillon_chunk_get_info(carillon_chunk const* chunk, carillon_chunk_info* info) {
    return c::guarded("carillon_chunk_get_info", [&] {
        auto const& of = c::checked(chunk, "chunk").chunk;
        auto const bytes = of.bytes();
        c::tell(carillon_chunk_info{0, bytes.data(), bytes.size(), of.sequence()}, info);
    });
}
carillon_status carillon_chunk_fill(carillon_chunk const* chunk, uint64_t offset, void const* from,
                                    uint64_t bytes) {
    return c::guarded("carillon_chunk_fill", [&] {
        c::checked(chunk, "chunk").chunk.fill(offset, c::bytes_at(from, bytes));
    });
}
carillon_status carillon_chunk_flush(carillon_chunk const* chunk) {
    return c::guarded("carillon_chunk_flush", [&] { c::checked(chunk, "chunk").chunk.flush(); });
}
carillon_status carillon_chunk_commit(carillon_chunk** chunk, uint64_t used, void const* meta,
                                      size_t meta_bytes) {
    return c::guarded("carillon_chunk_commit", [&] {
        auto* const of = c::checked(chunk, "chunk's handle");
        c::checked(of, "chunk").chunk.commit(used, c::bytes_at(meta, meta_bytes));
        c::close(chunk);
    });
}
void carillon_chunk_close(carillon_chunk** chunk) { c::close(chunk); }

carillon_status carillon_chunk_ring_emulated_end(carillon_chunk_ring* ring,
                                                 carillon_chunk_ring_end** end) {
    return c::open("carillon_chunk_ring_emulated_end", end, [&] {
        auto const& of = c::checked(ring, "ring").ring;
        return carillon_chunk_ring_end{
            of, of.device_handle(carillon::detail::CodeLocation::elsewhere())};
    });
}
void carillon_chunk_ring_end_close(carillon_chunk_ring_end** end) { c::close(end); }
carillon_status carillon_chunk_ring_end_take(carillon_chunk_ring_end* end,
                                             carillon_taken_chunk* chunk) {
    return c::guarded("carillon_chunk_ring_end_take", [&] {
        carillon_taken_chunk told{};
        c::tell(told, chunk);  // there is room for it, before one is taken
        auto const taken = c::checked(end, "end").end.try_take();
        if (!taken) return c::now(false);
        told.data = taken->data;
        told.bytes = taken->size;
        told.sequence = taken->sequence;
        std::memcpy(told.meta, taken->meta.data(), sizeof(told.meta));
        c::tell(told, chunk);
        return c::now(true);
    });
}
carillon_status carillon_chunk_ring_end_release(carillon_chunk_ring_end* end, uint64_t sequence) {
    return c::guarded("carillon_chunk_ring_end_release",
                      [&] { return c::now(c::checked(end, "end").end.release(sequence)); });
}

}  // extern "C"
