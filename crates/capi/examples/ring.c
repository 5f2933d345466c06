/* Drives a ring: each host forwards a message as soon as it has received one.
 *
 *     cc ring.c -I include -L target/release -lpenstock -o ring
 *     ring fabric.toml 6 1000000
 */
#include <inttypes.h>
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *call) {
    fprintf(stderr, "%s: %s\n", call, penstock_last_error());
    return 1;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: ring FILE STEPS BYTES [MESSAGES]\n");
        return 2;
    }
    if (penstock_abi_version() != PENSTOCK_ABI_VERSION) {
        fprintf(stderr, "the library has version %u, the header %u\n", penstock_abi_version(), PENSTOCK_ABI_VERSION);
        return 1;
    }
    uint32_t steps = (uint32_t)strtoul(arguments[2], NULL, 10);
    uint64_t bytes = strtoull(arguments[3], NULL, 10);
    penstock_session *session = penstock_open(arguments[1], NULL);
    if (!session)
        return failed("penstock_open");
    uint32_t ranks = penstock_ranks(session);
    uint32_t *left = calloc(ranks, sizeof *left);
    if (!left || penstock_record(session) < 0)
        return failed("penstock_record");
    for (uint32_t rank = 0; rank < ranks; rank++) {
        left[rank] = steps - 1;
        if (penstock_send(session, rank, (rank + 1) % ranks, bytes, PENSTOCK_NOW, NULL) < 0)
            return failed("penstock_send");
    }
    int32_t end;
    while ((end = penstock_run(session, PENSTOCK_NEVER)) == PENSTOCK_EVENTS) {
        penstock_event event;
        while (penstock_take_events(session, &event, 1) == 1) {
            if (event.kind != PENSTOCK_DELIVERED || left[event.to] == 0)
                continue;
            left[event.to]--;
            if (penstock_send(session, event.to, (event.to + 1) % ranks, bytes, PENSTOCK_NOW, NULL) < 0)
                return failed("penstock_send");
        }
    }
    if (end < 0)
        return failed("penstock_run");
    printf("%s to %s: %" PRIu64 " ps\n", penstock_host(session, 0), penstock_host(session, ranks - 1), penstock_now(session));
    if (count > 4 && penstock_write_messages(session, arguments[4]) < 0)
        return failed("penstock_write_messages");
    uint64_t fingerprint;
    if (penstock_finish(session, NULL, &fingerprint) < 0)
        return failed("penstock_finish");
    printf("%016" PRIx64 "\n", fingerprint);
    penstock_close(session);
    free(left);
    return 0;
}
