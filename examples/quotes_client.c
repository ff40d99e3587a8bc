/* SPDX-License-Identifier: Apache-2.0 */
/* Commands the kernel that quotes_owner.cpp owns, from C.
 * Usage: quotes_client PATH */
#include <carillon.h>
#include <stdio.h>

struct tick {
    double bid, ask;
};
struct quote {
    double price;
    unsigned count; /* how many ticks the block had seen */
};

static int ask_for_quotes(carillon_client* client) {
    for (int i = 0; i < 3; ++i) {
        struct tick const tick = {4810.0 + i, 4810.5 + i};
        struct quote quote;
        if (carillon_client_call(client, &tick, sizeof(tick), &quote, sizeof(quote), 1000000000,
                                 0) != CARILLON_OK)
            return 1;
        printf("tick %u: %.2f\n", quote.count, quote.price);
    }
    return 0;
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    carillon_connect_options const options = {.size = sizeof(options),
                                              .wait_for_owner_ns = 10000000000};
    carillon_type const request = {sizeof(struct tick), "Tick"};
    carillon_type const reply = {sizeof(struct quote), "Quote"};
    carillon_connection* owner = NULL;
    carillon_client* client = NULL;
    int failed = carillon_connect(argv[1], &options, &owner) != CARILLON_OK ||
                 carillon_connection_client(owner, NULL, request, reply, &client) != CARILLON_OK ||
                 ask_for_quotes(client) != 0;
    if (failed) fprintf(stderr, "%s\n", carillon_last_error());
    carillon_client_close(&client);
    carillon_connection_close(&owner);
    return failed;
}
