/* SPDX-License-Identifier: Apache-2.0 */
/* A program as it is written for gdrcopy 2.6, with every call of it, and what is Carillon's own
 * beside them. Usage: gdrapi_test calls | bad | others | forked | cuda0 | pplat
 * Exit status 77, and the reason, where this machine lacks what that is about. */
#include <errno.h>
#include <gdrapi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(condition)                                                                      \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\nthe last error: %s\n", __FILE__, __LINE__, #condition, \
                    carillon_gdr_last_error());                                                \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define EXPECT_ERROR(call, error, part)                            \
    do {                                                           \
        EXPECT((call) == (error));                                 \
        EXPECT(strstr(carillon_gdr_last_error(), (part)) != NULL); \
    } while (0)

enum { size = 3 * 65536 };

/* Memory that is pinned and mapped. */
struct stage {
    gdr_t g;
    unsigned long address; /* the device's, which on the emulated device is this process's too */
    gdr_mh_t handle;
    char* mapping;
};

static struct stage begin(void) {
    struct stage s;
    void* where = NULL;
    s.g = gdr_open();
    EXPECT(s.g != NULL);
    EXPECT(carillon_gdr_alloc(s.g, size, &s.address) == 0);
    EXPECT((s.address & GPU_PAGE_OFFSET) == 0);
    EXPECT(gdr_pin_buffer(s.g, s.address, size, 0, 0, &s.handle) == 0);
    EXPECT(gdr_map(s.g, s.handle, &where, size) == 0);
    s.mapping = where;
    return s;
}
static void end(struct stage const* s) {
    EXPECT(gdr_unmap(s->g, s->handle, s->mapping, size) == 0);
    EXPECT(gdr_unpin_buffer(s->g, s->handle) == 0);
    EXPECT(carillon_gdr_free(s->g, s->address) == 0);
    EXPECT(gdr_close(s->g) == 0);
}

static char byte_of(size_t i) { return (char)(i * 7 + i / 251 + 1); }

/* What is written through the mapping is in the device's memory, and nothing else, and back. */
static void copies(struct stage const* s) {
    static char from[300];
    static char back[300];
    char const* const device = (char const*)s->address;
    for (size_t i = 0; i < sizeof(from); ++i) from[i] = byte_of(i);
    for (size_t offset = 65536 - 70; offset < 65536 + 3; ++offset) {
        for (size_t bytes = 0; bytes < sizeof(from) - 3; bytes = 2 * bytes + 1) {
            memset((char*)s->address + offset - 1, 0, bytes + 2);
            EXPECT(gdr_copy_to_mapping(s->handle, s->mapping + offset, from + bytes % 3, bytes) ==
                   0);
            EXPECT(memcmp(device + offset, from + bytes % 3, bytes) == 0);
            EXPECT(device[offset - 1] == 0 && device[offset + bytes] == 0);
            memset(back, 0, sizeof(back));
            EXPECT(gdr_copy_from_mapping(s->handle, back + 1, s->mapping + offset, bytes) == 0);
            EXPECT(memcmp(back + 1, device + offset, bytes) == 0);
            EXPECT(back[0] == 0 && back[bytes + 1] == 0);
        }
    }
}

static void tells(struct stage const* s) {
    gdr_info_t info;
    int major = 0;
    int minor = 0;
    int value = -1;
    char const* text = NULL;
    EXPECT(gdr_get_info(s->g, s->handle, &info) == 0);
    EXPECT(info.va == s->address && info.mapped_size == size && info.page_size == GPU_PAGE_SIZE);
    EXPECT(info.mapped == 1 && info.wc_mapping == (info.mapping_type == GDR_MAPPING_TYPE_WC));
    EXPECT(gdr_get_mapping_type_string(info.mapping_type, &text) == 0 && text[0] != '\0');
    EXPECT(gdr_get_callback_flag(s->g, s->handle, &value) == 0 && value == 0);
    gdr_runtime_get_version(&major, &minor);
    EXPECT(major == GDR_API_MAJOR_VERSION && minor == GDR_API_MINOR_VERSION);
    EXPECT(gdr_driver_get_version(s->g, &major, &minor) == 0);
    EXPECT((major << MAJOR_VERSION_SHIFT | minor) >= MINIMUM_GDRDRV_VERSION);
    EXPECT(gdr_get_attribute(s->g, GDR_ATTR_USE_PERSISTENT_MAPPING, &value) == 0 && value == 1);
    EXPECT(gdr_get_attribute(s->g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &value) == 0 && value);
    EXPECT(gdr_get_attribute(s->g, GDR_ATTR_USING_DMA_BUF_MMAP, &value) == 0 && value == 0);
}

/* Two pins of one memory, of a part of it, from the middle of a page. */
static void pins_twice(struct stage const* s) {
    gdr_mh_t other;
    gdr_info_t info;
    void* where = NULL;
    EXPECT(gdr_pin_buffer_v2(s->g, s->address + 65536 + 100, 65536, GDR_PIN_FLAG_FORCE_PCIE,
                             &other) == 0);
    EXPECT(gdr_get_info(s->g, other, &info) == 0);
    EXPECT(info.va == s->address + 65536 && info.mapped_size == 2 * 65536);
    EXPECT(info.mapped == 0 && info.mapping_type == GDR_MAPPING_TYPE_NONE);
    EXPECT(gdr_map_v2(s->g, other, &where, 100, GDR_MAP_FLAG_DEFAULT) == 0);
    EXPECT(gdr_copy_to_mapping(other, where, "twice", 6) == 0);
    EXPECT(strcmp((char const*)s->address + 65536, "twice") == 0);
    EXPECT(gdr_unpin_buffer(s->g, other) == 0); /* and its mapping with it */
    EXPECT(gdr_copy_to_mapping(other, where, "twice", 6) == EINVAL);
}

/* The sizes of gdrcopy's own pplat: it copies 8 bytes into a mapping of 4. What is mapped is whole
 * pages, as there. */
static void copies_within_the_pages_of_a_small_mapping(struct stage const* s) {
    gdr_mh_t handle;
    void* where = NULL;
    uint64_t value = 0x0123456789abcdefU;
    EXPECT(gdr_pin_buffer(s->g, s->address + 65536, 4, 0, 0, &handle) == 0);
    EXPECT(gdr_map(s->g, handle, &where, 4) == 0);
    EXPECT(gdr_copy_to_mapping(handle, where, &value, sizeof(value)) == 0);
    EXPECT(memcmp((void const*)(s->address + 65536), &value, sizeof(value)) == 0);
    EXPECT(gdr_copy_to_mapping(handle, (char*)where + 65536 - 8, &value, 8) == 0);
    EXPECT_ERROR(gdr_copy_to_mapping(handle, (char*)where + 65536 - 7, &value, 8), EINVAL,
                 "not in the mapping of 65536 bytes");
    EXPECT(gdr_unmap(s->g, handle, where, 4) == 0);
    EXPECT(gdr_unpin_buffer(s->g, handle) == 0);
}

static int calls(void) {
    struct stage const s = begin();
    copies(&s);
    tells(&s);
    pins_twice(&s);
    copies_within_the_pages_of_a_small_mapping(&s);
    end(&s);
    return 0;
}

static void bad_pins(struct stage const* s) {
    gdr_mh_t handle = {0};
    EXPECT_ERROR(gdr_pin_buffer(NULL, s->address, 1, 0, 0, &handle), EINVAL, "null pointer");
    EXPECT_ERROR(gdr_pin_buffer(s->g, s->address, 1, 0, 0, NULL), EINVAL, "null pointer");
    EXPECT_ERROR(gdr_pin_buffer(s->g, s->address, 0, 0, 0, &handle), EINVAL, "0 bytes");
    EXPECT_ERROR(gdr_pin_buffer(s->g, 0, 1, 0, 0, &handle), EINVAL, "at 0x0");
    EXPECT_ERROR(gdr_pin_buffer(s->g, s->address, SIZE_MAX, 0, 0, &handle), EINVAL, "bytes at");
    EXPECT_ERROR(gdr_pin_buffer_v2(s->g, s->address, 1, 6, &handle), EINVAL, "unknown flags 0x6");
    EXPECT_ERROR(gdr_unpin_buffer(s->g, handle), EINVAL, "not a handle");
    EXPECT_ERROR(gdr_unpin_buffer(NULL, s->handle), EINVAL, "not a handle");
    gdr_t const other = gdr_open();
    EXPECT_ERROR(gdr_unpin_buffer(other, s->handle), EINVAL, "not a handle");
    EXPECT(gdr_close(other) == 0);
    EXPECT(gdr_pin_buffer(s->g, s->address, 1, 0, 0, &handle) == 0);
    EXPECT(gdr_unpin_buffer(s->g, handle) == 0);
    EXPECT_ERROR(gdr_unpin_buffer(s->g, handle), EINVAL, "not a handle");
    gdr_mh_t again;
    EXPECT(gdr_pin_buffer(s->g, s->address, 1, 0, 0, &again) == 0 && again.h != handle.h);
    void* where = NULL;
    EXPECT_ERROR(gdr_map(s->g, handle, &where, 1), EINVAL, "not a handle");
    EXPECT(gdr_unpin_buffer(s->g, again) == 0);
}

static void bad_maps(struct stage const* s) {
    gdr_mh_t handle;
    void* where = NULL;
    gdr_info_t info;
    int value = 0;
    EXPECT(gdr_pin_buffer(s->g, s->address, 65536, 0, 0, &handle) == 0);
    EXPECT_ERROR(gdr_unmap(s->g, handle, s->mapping, 65536), EINVAL, "not mapped");
    EXPECT_ERROR(gdr_map(s->g, handle, &where, 65537), EINVAL, "65537 bytes to map, but 65536");
    EXPECT_ERROR(gdr_map(s->g, handle, &where, 0), EINVAL, "0 bytes");
    EXPECT_ERROR(gdr_map(s->g, handle, NULL, 1), EINVAL, "gdr_map: the output argument is a null");
    EXPECT_ERROR(gdr_map_v2(s->g, handle, &where, 1, GDR_MAP_FLAG_REQ_DEVICE_MAPPING), EINVAL,
                 "type");
    EXPECT_ERROR(gdr_copy_to_mapping(handle, s->mapping, "x", 1), EINVAL, "not in the mapping");
    EXPECT(gdr_map(s->g, handle, &where, 100) == 0);
    EXPECT_ERROR(gdr_map(s->g, handle, &where, 100), EAGAIN, "already");
    EXPECT_ERROR(gdr_unmap(s->g, handle, where, 99), EINVAL, "99 bytes");
    EXPECT_ERROR(gdr_unmap(s->g, handle, (char*)where + 1, 100), EINVAL, "not the mapping: 100 bytes at");
    EXPECT(gdr_unmap(s->g, handle, where, 100) == 0);
    EXPECT_ERROR(gdr_unmap(s->g, handle, where, 100), EINVAL, "not mapped");
    EXPECT_ERROR(gdr_get_info(s->g, handle, NULL), EINVAL, "null pointer");
    EXPECT_ERROR(gdr_get_info(NULL, handle, &info), EINVAL, "not a handle");
    EXPECT_ERROR(gdr_get_callback_flag(s->g, handle, NULL), EINVAL, "null pointer");
    EXPECT_ERROR(gdr_get_attribute(s->g, GDR_ATTR_MAX, &value), EINVAL, "no attribute 4");
    EXPECT_ERROR(gdr_get_attribute(NULL, GDR_ATTR_USING_DMA_BUF_MMAP, &value), EINVAL, "null");
    EXPECT_ERROR(gdr_driver_get_version(s->g, NULL, &value), EINVAL, "null pointer");
    char const* text = NULL;
    EXPECT_ERROR(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_MAX, &text), EINVAL, "unknown mapping type");
    EXPECT(gdr_unpin_buffer(s->g, handle) == 0);
}

static void bad_copies(struct stage const* s) {
    char bytes[8] = {0};
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, s->mapping + size, bytes, 1), EINVAL, "1 bytes at");
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, s->mapping + size - 7, bytes, 8), EINVAL,
                 "8 bytes");
    EXPECT_ERROR(gdr_copy_from_mapping(s->handle, bytes, s->mapping - 1, 1), EINVAL, "not in");
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, s->mapping, bytes, SIZE_MAX), EINVAL, "not in");
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, NULL, bytes, 1), EINVAL, "not in");
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, s->mapping, NULL, 1), EINVAL, "null pointer");
    EXPECT_ERROR(gdr_copy_from_mapping(s->handle, NULL, s->mapping, 1), EINVAL, "null pointer");
    EXPECT(gdr_copy_to_mapping(s->handle, s->mapping + size, NULL, 0) == 0);
    gdr_mh_t const none = {~0UL};
    EXPECT_ERROR(gdr_copy_from_mapping(none, bytes, s->mapping, 1), EINVAL, "not a handle");
}

/* What is pinned stays, although it is freed, until nothing pins it: it is nobody else's, and no
 * access of it is a crash. */
static void freed(void) {
    struct stage const s = begin();
    int value = 1;
    char byte = 'x';
    void* where = NULL;
    gdr_mh_t other;
    EXPECT(gdr_pin_buffer(s.g, s.address, 1, 0, 0, &other) == 0);
    EXPECT_ERROR(carillon_gdr_free(s.g, s.address + 1), EINVAL, "not an address");
    EXPECT(carillon_gdr_free(s.g, s.address) == 0);
    EXPECT_ERROR(carillon_gdr_free(s.g, s.address), EINVAL, "not an address");
    gdr_mh_t late;
    EXPECT(gdr_pin_buffer(s.g, s.address, 1, 0, 0, &late) != 0);
    EXPECT(gdr_copy_to_mapping(s.handle, s.mapping, &byte, 1) == 0);
    EXPECT(s.mapping[0] == 'x');
    EXPECT(gdr_get_callback_flag(s.g, s.handle, &value) == 0 && value == 0);
    EXPECT(gdr_unmap(s.g, s.handle, s.mapping, size) == 0);
    EXPECT(gdr_map(s.g, s.handle, &where, size) == 0 && where == s.mapping);
    EXPECT(gdr_unpin_buffer(s.g, s.handle) == 0);
    EXPECT(s.mapping[0] == 'x'); /* the other one pins it still */
    EXPECT(gdr_close(s.g) == 0); /* which unpins it */
    EXPECT_ERROR(gdr_copy_to_mapping(s.handle, s.mapping, &byte, 1), EINVAL, "not a handle");
}

/* Every call of what a parent has opened is an error in its child, and harms the parent nothing. */
static void in_a_child(struct stage const* s) {
    gdr_mh_t handle;
    gdr_info_t info;
    void* where = NULL;
    unsigned long address = 0;
    int value = 0;
    char byte = 0;
    char const* const why = "parent process";
    EXPECT_ERROR(gdr_pin_buffer(s->g, s->address, 1, 0, 0, &handle), EACCES, why);
    EXPECT_ERROR(gdr_pin_buffer_v2(s->g, s->address, 1, 0, &handle), EACCES, why);
    EXPECT_ERROR(gdr_map(s->g, s->handle, &where, 1), EACCES, why);
    EXPECT_ERROR(gdr_unmap(s->g, s->handle, s->mapping, size), EACCES, why);
    EXPECT_ERROR(gdr_get_info(s->g, s->handle, &info), EACCES, why);
    EXPECT_ERROR(gdr_get_callback_flag(s->g, s->handle, &value), EACCES, why);
    EXPECT_ERROR(gdr_copy_to_mapping(s->handle, s->mapping, &byte, 1), EACCES, why);
    EXPECT_ERROR(gdr_copy_from_mapping(s->handle, &byte, s->mapping, 1), EACCES, why);
    EXPECT_ERROR(gdr_get_attribute(s->g, GDR_ATTR_USING_DMA_BUF_MMAP, &value), EACCES, why);
    EXPECT_ERROR(gdr_driver_get_version(s->g, &value, &value), EACCES, why);
    EXPECT_ERROR(carillon_gdr_alloc(s->g, 1, &address), EACCES, why);
    EXPECT_ERROR(carillon_gdr_free(s->g, s->address), EACCES, why);
    EXPECT_ERROR(gdr_unpin_buffer(s->g, s->handle), EACCES, why);
    EXPECT_ERROR(gdr_close(s->g), EACCES, why);
    gdr_t const own = gdr_open();
    EXPECT_ERROR(gdr_pin_buffer(own, s->address, 1, 0, 0, &handle), EACCES, why);
    /* Not so its own, be it where its parent's is. A GPU gives a child none. */
    if (carillon_gdr_alloc(own, 1, &address) == 0) {
        EXPECT(gdr_pin_buffer(own, address, 1, 0, 0, &handle) == 0);
    }
    EXPECT(gdr_close(own) == 0);
}

static void expect_child(struct stage const* s) {
    int status = -1;
    pid_t const child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        alarm(30); /* ends it where it hangs */
        in_a_child(s);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static atomic_bool pins_on;

static void* pin_often(void* context) {
    struct stage const* const s = context;
    while (atomic_load(&pins_on)) {
        gdr_mh_t handle;
        EXPECT(gdr_pin_buffer(s->g, s->address, 1, 0, 0, &handle) == 0);
        EXPECT(gdr_unpin_buffer(s->g, handle) == 0);
    }
    return NULL;
}

/* Beside a thread of the parent's that holds, now and then, what a child needs. */
static void expect_children_beside_pins(struct stage const* s) {
    pthread_t thread;
    atomic_store(&pins_on, true);
    EXPECT(pthread_create(&thread, NULL, pin_often, (void*)s) == 0);
    for (int i = 0; i < 50; ++i) expect_child(s);
    atomic_store(&pins_on, false);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static int forked(void) {
    struct stage const s = begin();
    expect_child(&s);
    expect_children_beside_pins(&s);
    EXPECT(gdr_copy_to_mapping(s.handle, s.mapping, "parent", 7) == 0);
    EXPECT(strcmp((char const*)s.address, "parent") == 0);
    end(&s);
    return 0;
}

static int bad(void) {
    unsigned long address = 0;
    EXPECT_ERROR(gdr_close(NULL), EINVAL, "null pointer");
    EXPECT_ERROR(carillon_gdr_alloc(NULL, 1, &address), EINVAL, "null pointer");
    struct stage const s = begin();
    EXPECT_ERROR(carillon_gdr_alloc(s.g, 0, &address), EINVAL, "0 bytes");
    EXPECT_ERROR(carillon_gdr_alloc(s.g, (size_t)1 << 60, &address), ENOMEM, "bytes");
    bad_pins(&s);
    bad_maps(&s);
    bad_copies(&s);
    end(&s);
    freed();
    setenv("CARILLON_DEVICE", "nonsense", 1);
    gdr_t const g = gdr_open();
    EXPECT_ERROR(carillon_gdr_alloc(g, 1, &address), EINVAL, "nonsense");
    EXPECT(gdr_close(g) == 0);
    return 0;
}

#if defined(HAVE_CARILLON_C)
#include <carillon.h>

static void* copy_often(void* context) {
    struct stage const* const s = context;
    for (int i = 0; i < 2000; ++i) {
        EXPECT(gdr_copy_to_mapping(s->handle, s->mapping, "often", 6) == 0);
    }
    return NULL;
}

/* As programs do that round what they pin and map to whole pages: all of the memory is there, and
 * no more. */
static void expect_rounded_pins(gdr_t g, unsigned long from, size_t size, void const* host) {
    size_t const offset = from & GPU_PAGE_OFFSET;
    unsigned long const begin = from - offset;
    size_t const whole = (offset + size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
    struct {
        unsigned long address;
        size_t size;
    } const ranges[] = {{from, GPU_PAGE_SIZE}, {begin, whole}, {begin, offset + 1}};
    for (size_t i = 0; i < 3; ++i) {
        gdr_mh_t handle;
        gdr_info_t info;
        void* where = NULL;
        if (ranges[i].size == 0) continue;
        EXPECT(gdr_pin_buffer(g, ranges[i].address, ranges[i].size, 0, 0, &handle) == 0);
        EXPECT(gdr_get_info(g, handle, &info) == 0);
        EXPECT(info.va == from && info.mapped_size == size);
        EXPECT(gdr_map(g, handle, &where, whole + 1) == EINVAL);
        EXPECT(gdr_map(g, handle, &where, whole) == 0);
        EXPECT(where == host);
        EXPECT(gdr_copy_to_mapping(handle, (char*)where + size, "x", 1) == EINVAL);
        EXPECT(gdr_unmap(g, handle, where, whole) == 0);
        EXPECT(gdr_unpin_buffer(g, handle) == 0);
    }
}

/* Memory that begins in a later page than the range does is none that the caller has rounded. */
static void expect_no_pin_from_the_page_before(gdr_t g, unsigned long from) {
    gdr_mh_t handle;
    gdr_info_t info;
    unsigned long const before = (from & GPU_PAGE_MASK) - 1;
    if (gdr_pin_buffer(g, before, 2 * GPU_PAGE_SIZE, 0, 0, &handle) != 0) return;
    EXPECT(gdr_get_info(g, handle, &info) == 0 && info.va != from); /* other memory lies there */
    EXPECT(gdr_unpin_buffer(g, handle) == 0);
}

/* Of another library of Carillon's, which has a copy of it of its own; while others copy. */
static void memory_of_the_c_library(void) {
    struct stage const s = begin();
    pthread_t thread;
    carillon_device* device = NULL;
    carillon_memory* memory = NULL;
    carillon_memory_info info = {.size = sizeof(info)};
    void* where = NULL;
    gdr_mh_t handle;
    EXPECT(pthread_create(&thread, NULL, copy_often, (void*)&s) == 0);
    EXPECT(carillon_device_open("emulated", &device) == CARILLON_OK);
    EXPECT(carillon_memory_allocate(device, 1000, CARILLON_MEMORY_DEVICE, &memory) == CARILLON_OK);
    EXPECT(carillon_memory_get_info(memory, &info) == CARILLON_OK);
    EXPECT(gdr_pin_buffer(s.g, (unsigned long)info.device, 1000, 0, 0, &handle) == 0);
    EXPECT(gdr_map(s.g, handle, &where, 1000) == 0);
    EXPECT(where == info.host);
    EXPECT(gdr_copy_to_mapping(handle, (char*)where + 995, "last", 5) == 0);
    EXPECT(strcmp((char*)info.device + 995, "last") == 0);
    expect_rounded_pins(s.g, (unsigned long)info.device, 1000, where);
    expect_no_pin_from_the_page_before(s.g, (unsigned long)info.device);
    carillon_memory_free(&memory);
    EXPECT(gdr_copy_to_mapping(handle, where, "held", 5) == 0);
    EXPECT(strcmp(where, "held") == 0);
    EXPECT(gdr_unpin_buffer(s.g, handle) == 0);
    carillon_device_close(&device);
    EXPECT(pthread_join(thread, NULL) == 0);
    end(&s);
}
#else
static void memory_of_the_c_library(void) {}
#endif

/* What no library of Carillon's has allocated: the text names the way out. */
static int others(void) {
    static char elsewhere[65536];
    gdr_mh_t handle;
    memory_of_the_c_library();
    gdr_t const g = gdr_open();
    int const error = gdr_pin_buffer(g, (unsigned long)elsewhere, 65536, 0, 0, &handle);
    EXPECT(error == ENOTSUP || error == EINVAL);
    EXPECT(strstr(carillon_gdr_last_error(), "carillon_gdr_alloc") != NULL);
    EXPECT(gdr_close(g) == 0);
    return 0;
}

#if defined(HAVE_CUDA_H)
#include <cuda.h>
#include <dlfcn.h>

static struct {
    CUresult (*init)(unsigned);
    CUresult (*retain)(CUcontext*, CUdevice);
    CUresult (*set)(CUcontext);
    CUresult (*allocate)(CUdeviceptr*, size_t);
    CUresult (*release)(CUdeviceptr);
    CUresult (*read)(void*, CUdeviceptr, size_t);
    CUresult (*write)(CUdeviceptr, void const*, size_t);
    CUresult (*synchronize)(void);
    CUresult (*clear)(CUdeviceptr, unsigned char, size_t);
    CUresult (*allocate_host)(void**, size_t, unsigned);
    CUresult (*release_host)(void*);
    CUresult (*device_of_host)(CUdeviceptr*, void*, unsigned);
    CUresult (*load)(CUmodule*, void const*);
    CUresult (*find)(CUfunction*, CUmodule, char const*);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void**, void**);
    CUresult (*query)(CUstream);
    CUresult (*wait)(CUstream);
} cuda;

static int find_cuda(void) {
    CUcontext context = NULL;
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library == NULL) return 0;
    *(void**)&cuda.init = dlsym(library, "cuInit");
    *(void**)&cuda.retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void**)&cuda.set = dlsym(library, "cuCtxSetCurrent");
    *(void**)&cuda.allocate = dlsym(library, "cuMemAlloc_v2");
    *(void**)&cuda.release = dlsym(library, "cuMemFree_v2");
    *(void**)&cuda.read = dlsym(library, "cuMemcpyDtoH_v2");
    *(void**)&cuda.write = dlsym(library, "cuMemcpyHtoD_v2");
    *(void**)&cuda.synchronize = dlsym(library, "cuCtxSynchronize");
    *(void**)&cuda.clear = dlsym(library, "cuMemsetD8_v2");
    *(void**)&cuda.allocate_host = dlsym(library, "cuMemHostAlloc");
    *(void**)&cuda.release_host = dlsym(library, "cuMemFreeHost");
    *(void**)&cuda.device_of_host = dlsym(library, "cuMemHostGetDevicePointer_v2");
    *(void**)&cuda.load = dlsym(library, "cuModuleLoadData");
    *(void**)&cuda.find = dlsym(library, "cuModuleGetFunction");
    *(void**)&cuda.launch = dlsym(library, "cuLaunchKernel");
    *(void**)&cuda.query = dlsym(library, "cuStreamQuery");
    *(void**)&cuda.wait = dlsym(library, "cuStreamSynchronize");
    return cuda.init(0) == CUDA_SUCCESS && cuda.retain(&context, 0) == CUDA_SUCCESS &&
           cuda.set(context) == CUDA_SUCCESS;
}

/* Both ways through the mapping of what is pinned at `address`, against the driver's own copies. */
static void cross_check(gdr_t g, unsigned long address, gdr_mh_t handle) {
    static char here[size];
    static char back[size];
    gdr_info_t info;
    void* where = NULL;
    EXPECT(gdr_map(g, handle, &where, size) == 0);
    EXPECT(gdr_get_info(g, handle, &info) == 0);
    EXPECT(info.mapping_type == GDR_MAPPING_TYPE_WC && info.va <= address);
    char* const mapping = (char*)where + (address - info.va);
    for (size_t i = 0; i < size; ++i) here[i] = byte_of(i);
    EXPECT(gdr_copy_to_mapping(handle, mapping + 3, here + 5, size - 70) == 0);
    EXPECT(cuda.read(back, address + 3, size - 70) == CUDA_SUCCESS);
    EXPECT(memcmp(back, here + 5, size - 70) == 0);
    EXPECT(cuda.write(address + 1, here, 1000) == CUDA_SUCCESS);
    EXPECT(cuda.synchronize() ==
           CUDA_SUCCESS); /* the driver copies it later, from its own memory */
    memset(back, 0, 1000);
    EXPECT(gdr_copy_from_mapping(handle, back, mapping + 1, 1000) == 0);
    EXPECT(memcmp(back, here, 1000) == 0);
    EXPECT(gdr_unmap(g, handle, where, size) == 0);
    EXPECT(gdr_unpin_buffer(g, handle) == 0);
}

static int cuda0(void) {
    if (!find_cuda()) {
        puts("skipped: there is no GPU here");
        return 77;
    }
    gdr_t const g = gdr_open();
    unsigned long own = 0;
    gdr_mh_t handle;
    int const allocated = carillon_gdr_alloc(g, size, &own);
    if (allocated == ENOTSUP) {
        printf("skipped: %s\n", carillon_gdr_last_error());
        return 77;
    }
    EXPECT(allocated == 0);
    EXPECT(gdr_pin_buffer(g, own, size, 0, 0, &handle) == 0);
    cross_check(g, own, handle);
    EXPECT(carillon_gdr_free(g, own) == 0);

    CUdeviceptr of_cuda = 0;
    EXPECT(cuda.allocate(&of_cuda, (size_t)4 << 20) == CUDA_SUCCESS);
    unsigned long const address = (of_cuda + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
    int const pinned = gdr_pin_buffer(g, address, size, 0, 0, &handle);
    if (pinned == 0) {
        puts("CUDA's own memory is mapped here");
        cross_check(g, address, handle);
    } else {
        EXPECT_ERROR(pinned, ENOTSUP, "carillon_gdr_alloc");
        printf("CUDA's own memory is not mapped here: %s\n", carillon_gdr_last_error());
    }
    EXPECT(cuda.release(of_cuda) == CUDA_SUCCESS);
    EXPECT_ERROR(gdr_pin_buffer(g, (unsigned long)&of_cuda, 8, 0, 0, &handle), EINVAL, "GPU");
    EXPECT(gdr_close(g) == 0);
    return 0;
}

/* It says i to the host and waits for i from it, for i from 1 to n. It gives up 2^32 ns after it
 * has started. */
static char const ping_pong[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry ping_pong(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n"
    ".reg .u64 %from, %to, %start, %now;\n.reg .u32 %n, %i, %seen;\n.reg .pred %p;\n"
    "ld.param.u64 %from, [from];\nld.param.u64 %to, [to];\nld.param.u32 %n, [n];\n"
    "mov.u64 %start, %globaltimer;\nmov.u32 %i, 1;\n"
    "say:\nst.volatile.global.u32 [%to], %i;\nmembar.cta;\n"
    "setp.ge.u32 %p, %i, %n;\n@%p bra end;\n"
    "look:\nld.volatile.global.u32 %seen, [%from];\n"
    "setp.eq.u32 %p, %seen, %i;\n@%p bra next;\n"
    "mov.u64 %now, %globaltimer;\nsub.u64 %now, %now, %start;\nshr.u64 %now, %now, 32;\n"
    "setp.eq.u64 %p, %now, 0;\n@%p bra look;\nbra end;\n"
    "next:\nmembar.cta;\nadd.u32 %i, %i, 1;\nbra say;\n"
    "end:\nret;\n}\n";

/* The calls of gdrcopy's own pplat, in its order and sizes: cuMemAlloc's memory is that of
 * carillon_gdr_alloc, 4 bytes are pinned and mapped, and sizeof(a pointer), 8 bytes, are copied. */
static int pplat(void) {
    enum { rounds = 1000 };
    if (!find_cuda()) {
        puts("skipped: there is no GPU here");
        return 77;
    }
    gdr_t const first = gdr_open();
    unsigned long allocated = 0;
    int const error = carillon_gdr_alloc(first, sizeof(uint32_t) + GPU_PAGE_SIZE - 1, &allocated);
    if (error == ENOTSUP) {
        printf("skipped: %s\n", carillon_gdr_last_error());
        return 77;
    }
    EXPECT(error == 0);
    CUdeviceptr from = (allocated + GPU_PAGE_SIZE - 1) & GPU_PAGE_MASK;
    CUdeviceptr to = 0;
    void* heard = NULL;
    EXPECT(cuda.clear(from, 0, sizeof(uint32_t)) == CUDA_SUCCESS);
    EXPECT(cuda.allocate_host(&heard, sizeof(uint32_t),
                              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) ==
           CUDA_SUCCESS);
    EXPECT(cuda.device_of_host(&to, heard, 0) == CUDA_SUCCESS);
    memset(heard, 0, sizeof(uint32_t));
    CUmodule module = NULL;
    CUfunction kernel = NULL;
    EXPECT(cuda.load(&module, ping_pong) == CUDA_SUCCESS);
    EXPECT(cuda.find(&kernel, module, "ping_pong") == CUDA_SUCCESS);

    gdr_t const g = gdr_open(); /* another one than the one that allocated */
    gdr_mh_t handle;
    gdr_info_t info;
    void* mapping = NULL;
    EXPECT(gdr_pin_buffer(g, from, sizeof(uint32_t), 0, 0, &handle) == 0);
    EXPECT(gdr_map(g, handle, &mapping, sizeof(uint32_t)) == 0);
    EXPECT(gdr_get_info(g, handle, &info) == 0);
    uint32_t* const said = (uint32_t*)((char*)mapping + (info.va - from));
    uint32_t n = rounds;
    void* arguments[] = {&from, &to, &n};
    EXPECT(cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS);
    EXPECT(cuda.query(NULL) == CUDA_ERROR_NOT_READY);
    time_t const deadline = time(NULL) + 10;
    for (uint32_t i = 1;; ++i) {
        while (*(uint32_t volatile*)heard != i) EXPECT(time(NULL) < deadline);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (i == rounds) break;
        uint32_t const value[2] = {i, 0};
        EXPECT(gdr_copy_to_mapping(handle, said, value, sizeof(said)) == 0);
    }
    EXPECT(cuda.wait(NULL) == CUDA_SUCCESS);
    EXPECT(gdr_unmap(g, handle, mapping, sizeof(uint32_t)) == 0);
    EXPECT(gdr_unpin_buffer(g, handle) == 0);
    EXPECT(gdr_close(g) == 0);
    EXPECT(cuda.release_host(heard) == CUDA_SUCCESS);
    EXPECT(carillon_gdr_free(first, allocated) == 0);
    EXPECT(gdr_close(first) == 0);
    return 0;
}
#else
static int cuda0(void) {
    puts("skipped: it was built without cuda.h");
    return 77;
}
static int pplat(void) { return cuda0(); }
#endif

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    if (strcmp(argv[1], "calls") == 0) return calls();
    if (strcmp(argv[1], "bad") == 0) return bad();
    if (strcmp(argv[1], "others") == 0) return others();
    if (strcmp(argv[1], "forked") == 0) return forked();
    if (strcmp(argv[1], "pplat") == 0) return pplat();
    return cuda0();
}
