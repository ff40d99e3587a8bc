/* SPDX-License-Identifier: Apache-2.0 */
/* A program of somebody else, in C. */
#include <carillon.h>
#include <stdio.h>

static void answer(void* user, void const* request, void* reply) {
    *(int*)reply = *(int const*)request + *(int const*)user;
}

int main(void) {
    int one = 1;
    int asked = 41;
    int told = 0;
    carillon_device* device = NULL;
    carillon_kernel* kernel = NULL;
    carillon_client* client = NULL;
    carillon_kernel_options const options = {.size = sizeof(options),
                                             .request = {sizeof(asked), "int"},
                                             .reply = {sizeof(told), "int"},
                                             .handler = answer,
                                             .user = &one};
    if (carillon_device_open("emulated", &device) != CARILLON_OK ||
        carillon_kernel_start(device, &options, &kernel) != CARILLON_OK ||
        carillon_kernel_client(kernel, 0, &client) != CARILLON_OK ||
        carillon_client_call(client, &asked, sizeof(asked), &told, sizeof(told), 10000000000, 0) !=
            CARILLON_OK) {
        fprintf(stderr, "%s\n", carillon_last_error());
    }
    printf("%d, emulated, in C\n", told);
    carillon_client_close(&client);
    carillon_kernel_close(&kernel);
    carillon_device_close(&device);
    return told == 42 ? 0 : 1;
}
