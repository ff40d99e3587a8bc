/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 with one device and no context, for the texts of what vkgdr asks it. */
#include <string.h>

enum { success = 0, invalid_device = 101, invalid_context = 201 };

int cuCtxGetDevice(int* device);
int cuDeviceGetUuid(void* uuid, int device);
int cuGetErrorName(int result, char const** name);

int cuCtxGetDevice(int* device) {
    (void)device;
    return invalid_context;
}
int cuDeviceGetUuid(void* uuid, int device) {
    if (device != 0) return invalid_device;
    memset(uuid, 7, 16);
    return success;
}
int cuGetErrorName(int result, char const** name) {
    *name = result == invalid_device    ? "CUDA_ERROR_INVALID_DEVICE"
            : result == invalid_context ? "CUDA_ERROR_INVALID_CONTEXT"
                                        : NULL;
    return success;
}
