/* SPDX-License-Identifier: Apache-2.0 */
/* A program for gdrcopy: it pins, maps, writes and reads device memory.
 * One call is not gdrcopy's: the one that allocates the memory. */
#include <gdrapi.h>
#include <stdio.h>

static int write_and_read(gdr_t g, unsigned long memory) {
    static char const text[] = "to the device and back";
    char back[sizeof(text)] = "";
    gdr_mh_t handle;
    void* mapping = NULL;
    if (gdr_pin_buffer(g, memory, GPU_PAGE_SIZE, 0, 0, &handle) != 0 ||
        gdr_map(g, handle, &mapping, GPU_PAGE_SIZE) != 0 ||
        gdr_copy_to_mapping(handle, (char*)mapping + 3, text, sizeof(text)) != 0 ||
        gdr_copy_from_mapping(handle, back, (char*)mapping + 3, sizeof(back)) != 0)
        return 1;
    printf("%s\n", back);
    return gdr_unmap(g, handle, mapping, GPU_PAGE_SIZE) != 0 || gdr_unpin_buffer(g, handle) != 0;
}

int main(void) {
    unsigned long memory = 0; /* the device's address of it, as cuMemAlloc gives one */
    gdr_t const g = gdr_open();
    int const failed = g == NULL || carillon_gdr_alloc(g, GPU_PAGE_SIZE, &memory) != 0 ||
                       write_and_read(g, memory) != 0;
    if (failed) fprintf(stderr, "%s\n", carillon_gdr_last_error());
    if (g != NULL) gdr_close(g); /* with all that it still has */
    return failed;
}
