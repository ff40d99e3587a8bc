/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of vkgdr 0.1, made of Carillon: a program that was written for it compiles and runs
 * with this header and -lvkgdr (docs/migrate/vkgdr.md). The names, types and values are vkgdr's. */
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
#if !defined(CARILLON_VKGDR_HAS_CUDA_H) /* as it has them */
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
    VKGDR_OPEN_FORCE_NON_COHERENT_BIT = 2, /* flush and invalidate always do something */
    VKGDR_OPEN_REQUIRE_COHERENT_BIT = 4    /* an error where they are needed */
} vkgdr_open_flags;

/* Why the thread's last vkgdr_open or vkgdr_memory_alloc gave NULL; NULL if it did not. The caller
 * frees it. */
VKGDR_API char* vkgdr_last_error(void);

/* NULL where there is an error. Its memory may outlive it. */
VKGDR_API vkgdr_t vkgdr_open(CUdevice device, uint32_t flags);
VKGDR_API void vkgdr_close(vkgdr_t g);

/* In the thread's current CUDA context, which is of that device. `flags`: 0. NULL where there is an
 * error. */
VKGDR_API vkgdr_memory_t vkgdr_memory_alloc(vkgdr_t g, size_t size, uint32_t flags);
VKGDR_API void vkgdr_memory_free(vkgdr_memory_t mem);

VKGDR_API void* vkgdr_memory_get_host_ptr(vkgdr_memory_t mem);
VKGDR_API CUdeviceptr vkgdr_memory_get_device_ptr(vkgdr_memory_t mem);
VKGDR_API size_t vkgdr_memory_get_size(vkgdr_memory_t mem);
VKGDR_API bool vkgdr_memory_is_coherent(vkgdr_memory_t mem);
VKGDR_API size_t vkgdr_memory_non_coherent_atom_size(vkgdr_memory_t mem);

/* Of a range in bytes; one that is no whole number of atoms is widened. */
VKGDR_API void vkgdr_memory_flush(vkgdr_memory_t mem, size_t offset, size_t size);
VKGDR_API void vkgdr_memory_invalidate(vkgdr_memory_t mem, size_t offset, size_t size);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-use-using, modernize-deprecated-headers) */
