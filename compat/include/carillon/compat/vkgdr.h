/* SPDX-License-Identifier: Apache-2.0 */
/* vkgdr 0.1's calls for programs that were written for it, implemented by Carillon: they compile
 * and run with this header and -lvkgdr (docs/migrate/vkgdr.md). The names, types and values are
 * vkgdr's. */
/* NOLINTBEGIN(modernize-use-using, modernize-deprecated-headers): C, and C++ alike */
#ifndef VKGDR_H
#define VKGDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#define CARILLON_VKGDR_HAS_CUDA_H 1
#endif
#endif
#if !defined(CARILLON_VKGDR_HAS_CUDA_H) /* cuda.h's types */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VKGDR_API __attribute__((visibility("default")))

struct vkgdr;
typedef struct vkgdr* vkgdr_t;
struct vkgdr_memory;
typedef struct vkgdr_memory* vkgdr_memory_t;

typedef enum vkgdr_open_flags {
    VKGDR_OPEN_CURRENT_CONTEXT_BIT = 1, /* the device of the thread's CUDA context, not `device` */
    VKGDR_OPEN_FORCE_NON_COHERENT_BIT = 2, /* make flush and invalidate always act */
    VKGDR_OPEN_REQUIRE_COHERENT_BIT = 4    /* fail if they are needed */
} vkgdr_open_flags;

/* Returns the reason why the thread's last vkgdr_open or vkgdr_memory_alloc returned NULL; NULL if
 * it did not. The caller frees the text. */
VKGDR_API char* vkgdr_last_error(void);

/* Returns NULL on error. The device's memory may outlive it. */
VKGDR_API vkgdr_t vkgdr_open(CUdevice device, uint32_t flags);
VKGDR_API void vkgdr_close(vkgdr_t g);

/* Allocates in the thread's current CUDA context, which must belong to that device. `flags`: 0.
 * Returns NULL on error. */
VKGDR_API vkgdr_memory_t vkgdr_memory_alloc(vkgdr_t g, size_t size, uint32_t flags);
VKGDR_API void vkgdr_memory_free(vkgdr_memory_t mem);

VKGDR_API void* vkgdr_memory_get_host_ptr(vkgdr_memory_t mem);
VKGDR_API CUdeviceptr vkgdr_memory_get_device_ptr(vkgdr_memory_t mem);
VKGDR_API size_t vkgdr_memory_get_size(vkgdr_memory_t mem);
VKGDR_API bool vkgdr_memory_is_coherent(vkgdr_memory_t mem);
VKGDR_API size_t vkgdr_memory_non_coherent_atom_size(vkgdr_memory_t mem);

/* `offset` and `size` are in bytes; the range is widened to whole atoms. */
VKGDR_API void vkgdr_memory_flush(vkgdr_memory_t mem, size_t offset, size_t size);
VKGDR_API void vkgdr_memory_invalidate(vkgdr_memory_t mem, size_t offset, size_t size);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-use-using, modernize-deprecated-headers) */
