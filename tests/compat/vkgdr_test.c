/* SPDX-License-Identifier: Apache-2.0 */
/* A program as it is written for vkgdr 0.1, with every call of it.
 * Usage: vkgdr_test errors | fake | memory
 * Exit status 77, and the reason, where this machine lacks what that is about. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vkgdr.h>

#define EXPECT(condition)                                                   \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static void expect_error(char const* part) {
    char* const text = vkgdr_last_error();
    EXPECT(text != NULL);
    printf("%s\n", text);
    EXPECT(strstr(text, part) != NULL);
    free(text);
}

/* Of no device: as without a library, or without a device. */
static int errors(void) {
    EXPECT(vkgdr_last_error() == NULL);
    EXPECT(vkgdr_open(4711, 0) == NULL);
    expect_error("");
    EXPECT(vkgdr_memory_alloc(NULL, 1, 0) == NULL);
    expect_error("null pointer");
    vkgdr_memory_free(NULL);
    vkgdr_close(NULL);
    EXPECT(vkgdr_memory_get_host_ptr(NULL) == NULL);
    EXPECT(vkgdr_memory_get_device_ptr(NULL) == 0);
    EXPECT(vkgdr_memory_get_size(NULL) == 0);
    EXPECT(vkgdr_memory_is_coherent(NULL));
    EXPECT(vkgdr_memory_non_coherent_atom_size(NULL) == 1);
    vkgdr_memory_flush(NULL, 0, 1);
    vkgdr_memory_invalidate(NULL, 0, 1);
    return 0;
}

/* With fake_cuda.c in the place of the driver. */
static int fake(void) {
    EXPECT(vkgdr_open(5, VKGDR_OPEN_FORCE_NON_COHERENT_BIT) == NULL);
    expect_error("cuDeviceGetUuid failed (CUDA_ERROR_INVALID_DEVICE)");
    EXPECT(vkgdr_open(0, VKGDR_OPEN_CURRENT_CONTEXT_BIT) == NULL);
    expect_error("cuCtxGetDevice failed (CUDA_ERROR_INVALID_CONTEXT)");
    vkgdr_t const g = vkgdr_open(0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
    EXPECT(g != NULL);
    EXPECT(vkgdr_last_error() == NULL);
    EXPECT(vkgdr_memory_alloc(g, 4096, 0) == NULL);
    expect_error("cuImportExternalMemory failed (CUDA_ERROR_INVALID_CONTEXT)");
    vkgdr_close(g);
    return 0;
}

#if defined(CARILLON_VKGDR_HAS_CUDA_H)
#include <dlfcn.h>

/* The driver that vkgdr loads too: a program for vkgdr has a context. */
static int make_context(void) {
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library == NULL) return 0;
    CUresult (*init)(unsigned) = NULL;
    CUresult (*retain)(CUcontext*, CUdevice) = NULL;
    CUresult (*set)(CUcontext) = NULL;
    *(void**)&init = dlsym(library, "cuInit");
    *(void**)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void**)&set = dlsym(library, "cuCtxSetCurrent");
    CUcontext context = NULL;
    return init(0) == CUDA_SUCCESS && retain(&context, 0) == CUDA_SUCCESS &&
           set(context) == CUDA_SUCCESS;
}
#else
static int make_context(void) { return 0; }
#endif

static int memory(void) {
    if (!make_context()) {
        puts("skipped: there is no CUDA here, or was no cuda.h");
        return 77;
    }
    vkgdr_t const g = vkgdr_open(0, VKGDR_OPEN_CURRENT_CONTEXT_BIT);
    if (g == NULL) {
        expect_error("");
        puts("skipped: this GPU's memory cannot be mapped here");
        return 77;
    }
    EXPECT(vkgdr_memory_alloc(g, (size_t)1 << 50, 0) == NULL);
    expect_error("(VK_ERROR_OUT_OF_DEVICE_MEMORY)");
    vkgdr_memory_t const mem = vkgdr_memory_alloc(g, 65536, 0);
    EXPECT(mem != NULL && vkgdr_last_error() == NULL);
    EXPECT(vkgdr_memory_get_size(mem) == 65536 && vkgdr_memory_get_device_ptr(mem) != 0);
    size_t const atom = vkgdr_memory_non_coherent_atom_size(mem);
    EXPECT(atom == 1 || !vkgdr_memory_is_coherent(mem));
    char* const host = vkgdr_memory_get_host_ptr(mem);
    memset(host, 5, 65536);
    vkgdr_memory_flush(mem, 0, 65536);
    vkgdr_memory_invalidate(mem, 0, 65536);
    EXPECT(host[65535] == 5);
    vkgdr_memory_free(mem);
    vkgdr_close(g);
    return 0;
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    if (strcmp(argv[1], "errors") == 0) return errors();
    if (strcmp(argv[1], "fake") == 0) return fake();
    return memory();
}
