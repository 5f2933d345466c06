/* Penstock: a run that another program drives.
 *
 * Messages and timers go in, events come out in the order of time. penstock_run() comes back in the instant of
 * the first events, and no part of the fabric is ahead of them: a message sent then leaves at that very time.
 *
 * All times are picoseconds from the start of the run, all sizes bytes. Functions that return int32_t return a
 * negative number on error, and penstock_last_error() says why. Nothing calls back, and nothing unwinds into the
 * caller. A session is used by one thread at a time; several sessions may run in several threads.
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every incompatible change of this header. Compare it with penstock_abi_version(). */
#define PENSTOCK_ABI_VERSION 1u

/* The present, in place of a start. */
#define PENSTOCK_NOW UINT64_MAX
/* No limit, in place of the end of a call of penstock_run(). */
#define PENSTOCK_NEVER UINT64_MAX

/* Kinds of events. */
#define PENSTOCK_DELIVERED 0u /* the last byte of a message is at its receiver */
#define PENSTOCK_SENT 1u      /* a message is acknowledged at its sender */
#define PENSTOCK_COMPUTED 2u  /* a computation has ended */
#define PENSTOCK_TIMER 3u     /* the time of a timer has come */

/* Ends of penstock_run(). */
#define PENSTOCK_EVENTS 0 /* there are events; take all of them before the next call */
#define PENSTOCK_UNTIL 1  /* the time that was given has come */
#define PENSTOCK_IDLE 2   /* nothing is under way: no message, computation or timer */
#define PENSTOCK_ENDED 3  /* the duration of the scenario is over */

/* Errors. */
#define PENSTOCK_ERROR_ARGUMENT (-1) /* a value cannot be used; the session is as it was */
#define PENSTOCK_ERROR_RUN (-2)      /* an invariant broke, or messages under way cannot end */
#define PENSTOCK_ERROR_INPUT (-3)    /* a file cannot be read or written */
#define PENSTOCK_ERROR_DEFECT (-4)   /* a defect of Penstock; close the session */

typedef struct penstock_session penstock_session;

typedef struct penstock_event {
    uint64_t time;  /* when */
    uint64_t id;    /* of the message, computation or timer */
    uint64_t bytes; /* of the message; 0 without one */
    uint32_t kind;  /* PENSTOCK_DELIVERED, ... */
    uint32_t from;  /* rank that sends, or computes; 0 for a timer */
    uint32_t to;    /* rank that receives; the rank that computes; 0 for a timer */
    uint32_t unused;
} penstock_event;

/* PENSTOCK_ABI_VERSION of the library. */
uint32_t penstock_abi_version(void);
/* Version of the library, such as "0.2.0". */
const char *penstock_version(void);
/* The last error of this thread; empty without one. Valid until the next call in this thread. */
const char *penstock_last_error(void);

/* Opens a scenario file; `seed`: NULL, or a seed in place of that of the scenario. NULL on error. */
penstock_session *penstock_open(const char *path, const uint64_t *seed);
/* Opens the text of a scenario; `name` names it in messages, and its folder has the files that it names. */
penstock_session *penstock_open_text(const char *text, const char *name, const uint64_t *seed);
/* Closes a session and frees it; NULL is accepted. */
void penstock_close(penstock_session *session);

/* Number of ranks; 0 on error. */
uint32_t penstock_ranks(const penstock_session *session);
/* Rank of a host. */
int32_t penstock_rank(const penstock_session *session, const char *host, uint32_t *rank);
/* Host of a rank; NULL on error. Valid until the session is closed. */
const char *penstock_host(const penstock_session *session, uint32_t rank);
/* Present time, and the duration of the scenario; 0 on error. */
uint64_t penstock_now(const penstock_session *session);
uint64_t penstock_duration(const penstock_session *session);
/* Messages, computations and timers that have not ended. */
uint64_t penstock_under_way(const penstock_session *session);

/* Sends a message at `at` or PENSTOCK_NOW; `id` may be NULL. */
int32_t penstock_send(penstock_session *session, uint32_t from, uint32_t to, uint64_t bytes, uint64_t at, uint64_t *id);
/* Occupies the processor of a rank for some time, behind its other work. */
int32_t penstock_compute(penstock_session *session, uint32_t rank, uint64_t time, uint64_t at, uint64_t *id);
/* Starts a timer that ends at `at`. */
int32_t penstock_timer(penstock_session *session, uint64_t at, uint64_t *id);
/* Cancels a timer: 1, or 0 if it had ended. */
int32_t penstock_cancel(penstock_session *session, uint64_t id);

/* Goes on to the next events before `until`, or to `until`: PENSTOCK_EVENTS, ... */
int32_t penstock_run(penstock_session *session, uint64_t until);
/* Takes up to `capacity` events, in the order of time, and returns how many. */
size_t penstock_take_events(penstock_session *session, penstock_event *events, size_t capacity);

/* Records all requests from now on. */
int32_t penstock_record(penstock_session *session);
/* Writes the recorded requests as a file for workload = { messages = "FILE" }. */
int32_t penstock_write_messages(const penstock_session *session, const char *path);

/* Goes on to the end of all messages. Then writes each table of the result to DIRECTORY/TABLE.csv, unless the directory
 * is NULL, and the fingerprint of the run to `fingerprint`, unless it is NULL. The session takes no requests any more. */
int32_t penstock_finish(penstock_session *session, const char *directory, uint64_t *fingerprint);

#ifdef __cplusplus
}
#endif

#endif
