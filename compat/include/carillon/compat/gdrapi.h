/* SPDX-License-Identifier: Apache-2.0 */
/* gdrcopy 2.6's calls for programs that were written for it, implemented by Carillon: they compile
 * and run with this header and -lcarillon_gdrapi (docs/migrate/gdrcopy.md lists the differences).
 * The names, types and values are gdrcopy's, except names that begin with carillon_. Without
 * gdrcopy's kernel module, and if the driver cannot map dma-bufs, pin Carillon's own memory:
 * carillon_gdr_alloc. */
/* NOLINTBEGIN(modernize-use-using, modernize-deprecated-headers): C, and C++ alike */
#ifndef CARILLON_COMPAT_GDRAPI_H
#define CARILLON_COMPAT_GDRAPI_H
#define __GDRAPI_H__ /* NOLINT(bugprone-reserved-identifier): instead of gdrcopy's own */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAJOR_VERSION_SHIFT 16
#define MINOR_VERSION_MASK (((uint32_t)1 << MAJOR_VERSION_SHIFT) - 1)
#define GDR_API_MAJOR_VERSION 2
#define GDR_API_MINOR_VERSION 6
#define GDR_API_VERSION ((GDR_API_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | GDR_API_MINOR_VERSION)
#define MINIMUM_GDRDRV_MAJOR_VERSION 2
#define MINIMUM_GDRDRV_MINOR_VERSION 0
#define MINIMUM_GDRDRV_VERSION \
    ((MINIMUM_GDRDRV_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | MINIMUM_GDRDRV_MINOR_VERSION)

#define GPU_PAGE_SHIFT 16
#define GPU_PAGE_SIZE (1UL << GPU_PAGE_SHIFT)
#define GPU_PAGE_OFFSET (GPU_PAGE_SIZE - 1)
#define GPU_PAGE_MASK (~GPU_PAGE_OFFSET)

struct gdr;
typedef struct gdr* gdr_t;

typedef struct gdr_mh_s {
    unsigned long h;
} gdr_mh_t;

typedef enum gdr_pin_flags {
    GDR_PIN_FLAG_DEFAULT = 0,
    GDR_PIN_FLAG_FORCE_PCIE = 1 /* through the PCIe bus; these mappings always are */
} gdr_pin_flags_t;

typedef enum gdr_map_flags {
    GDR_MAP_FLAG_DEFAULT = 0,
    GDR_MAP_FLAG_REQ_WC_MAPPING = 1,
    GDR_MAP_FLAG_REQ_CACHE_MAPPING = 2,
    GDR_MAP_FLAG_REQ_DEVICE_MAPPING = 3
} gdr_map_flags_t;

typedef enum gdr_mapping_type {
    GDR_MAPPING_TYPE_NONE = 0,
    GDR_MAPPING_TYPE_WC = 1,
    GDR_MAPPING_TYPE_CACHING = 2, /* on the emulated device */
    GDR_MAPPING_TYPE_DEVICE = 3,
    GDR_MAPPING_TYPE_MAX
} gdr_mapping_type_t;

typedef enum gdr_attr {
    GDR_ATTR_USE_PERSISTENT_MAPPING = 1,
    GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE = 2,
    GDR_ATTR_USING_DMA_BUF_MMAP = 3,
    GDR_ATTR_MAX
} gdr_attr_t;

typedef struct gdr_info_v2 {
    uint64_t va;          /* the device's address of the first mapped byte */
    uint64_t mapped_size; /* bytes */
    uint32_t page_size;
    uint64_t tm_cycles;     /* 0 */
    uint32_t cycles_per_ms; /* 0 */
    unsigned mapped : 1;
    unsigned wc_mapping : 1;
    gdr_mapping_type_t mapping_type;
} gdr_info_v2_t;
typedef gdr_info_v2_t gdr_info_t;

#pragma GCC visibility push(default)

/* Calls with an int result return 0 or an error of errno.h: EACCES in a child of fork() for
 * anything that its parent opened, pinned or allocated. */

/* gdr_open returns NULL only if no memory is left; gdr_pin_buffer fails if memory cannot be mapped.
 * gdr_close unpins and frees everything that is still pinned or allocated. */
gdr_t gdr_open(void);
int gdr_close(gdr_t g);

/* Pin a range of device memory: of any Carillon library, or of CUDA in the thread's current context
 * if this machine can map it. EINVAL for other memory, ENOTSUP if it cannot be mapped. `p2p_token`
 * and `va_space`: 0. */
int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space,
                   gdr_mh_t* handle);
int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags, gdr_mh_t* handle);
/* Unpins, and also unmaps. EINVAL for a handle without a pin. */
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);

/* Sets `flag` to 0: pinned memory stays until it is unpinned, even if it is freed before. */
int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int* flag);

int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t* info);
#define gdr_get_info gdr_get_info_v2

/* Map pinned memory, from info.va on. EAGAIN if it is mapped already, EINVAL for more bytes than
 * were pinned and for an unsupported type of mapping. */
int gdr_map(gdr_t g, gdr_mh_t handle, void** va, size_t size);
int gdr_map_v2(gdr_t g, gdr_mh_t handle, void** va, size_t size, int flags);
/* EINVAL for an address or size that differs from gdr_map's. */
int gdr_unmap(gdr_t g, gdr_mh_t handle, void* va, size_t size);

/* Copy with any alignment and size, within the mapped pages of GPU_PAGE_SIZE. Bytes, and words of
 * 2, 4 and 8 bytes that are aligned in the mapping, are one store each. A store fence follows them.
 * EINVAL outside the mapping. */
int gdr_copy_to_mapping(gdr_mh_t handle, void* map_d_ptr, void const* h_ptr, size_t size);
int gdr_copy_from_mapping(gdr_mh_t handle, void* h_ptr, void const* map_d_ptr, size_t size);

/* Both return GDR_API_VERSION, also without a driver module. */
void gdr_runtime_get_version(int* major, int* minor);
int gdr_driver_get_version(gdr_t g, int* major, int* minor);
int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int* v);
int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, char const** text);

/* ---- Not gdrcopy's ---- */

/* Allocates device memory that can be pinned on every machine: zeroed pages of GPU_PAGE_SIZE, at a
 * multiple of it. The environment variable CARILLON_DEVICE names the device ("emulated", "cuda:1").
 * The default is the device of the thread's current CUDA context, or else the first GPU, or else
 * the emulated device, whose addresses belong to this process. ENOMEM, ENOTSUP. */
int carillon_gdr_alloc(gdr_t g, size_t size, unsigned long* addr);
/* EINVAL for an address that is not from carillon_gdr_alloc with `g`. */
int carillon_gdr_free(gdr_t g, unsigned long addr);
/* Returns the reason why the thread's last failed call of this header failed, or "". It is valid
 * until the next failure. It is also printed if GDRCOPY_ENABLE_LOGGING is set; that CUDA's memory
 * cannot be mapped is always printed once per process. */
char const* carillon_gdr_last_error(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-use-using, modernize-deprecated-headers) */
