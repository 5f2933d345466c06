/* Penstock: a run that another program drives.
 *
 * The inputs of a run are messages and timers, its outputs events in order of time. penstock_run() returns at the
 * simulated time of the next events, and no part of the fabric is ahead of that time: a message sent then starts at
 * exactly that time.
 *
 * All times are picoseconds from the start of the run, and all sizes are bytes. Functions that return int32_t return
 * a negative number on error; penstock_last_error() then returns the reason. There are no callbacks, and panics do not
 * unwind into the caller. Only one thread may use a session at a time; several sessions may run in several threads.
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

/* Start time: the current time of the run. */
#define PENSTOCK_NOW UINT64_MAX
/* Value of `until` for penstock_run(): no limit. */
#define PENSTOCK_NEVER UINT64_MAX

/* Kinds of events. */
#define PENSTOCK_DELIVERED 0u /* a message has been delivered, and its receiver's processor has processed it */
#define PENSTOCK_SENT 1u      /* a message has been acknowledged at its sender */
#define PENSTOCK_COMPUTED 2u  /* a computation has ended */
#define PENSTOCK_TIMER 3u     /* a timer has expired */

/* Return values of penstock_run(). */
#define PENSTOCK_EVENTS 0 /* events are available; take all of them before the next call */
#define PENSTOCK_UNTIL 1  /* the given time was reached */
#define PENSTOCK_IDLE 2   /* all messages, computations and timers have ended */
#define PENSTOCK_ENDED 3  /* the duration of the scenario has ended */

/* Errors. */
#define PENSTOCK_ERROR_ARGUMENT (-1) /* an argument is invalid; the session is unchanged */
#define PENSTOCK_ERROR_RUN (-2)      /* an invariant is violated, or messages cannot end */
#define PENSTOCK_ERROR_INPUT (-3)    /* a file cannot be read or written */
#define PENSTOCK_ERROR_DEFECT (-4)   /* a defect of Penstock; close the session */

typedef struct penstock_session penstock_session;

typedef struct penstock_event {
    uint64_t time;  /* time of the event */
    uint64_t id;    /* id of the message, computation or timer */
    uint64_t bytes; /* size of the message; 0 for other events */
    uint32_t kind;  /* PENSTOCK_DELIVERED, ... */
    uint32_t from;  /* rank that sends the message, or that computes; 0 for a timer */
    uint32_t to;    /* rank that receives the message, or that computes; 0 for a timer */
    uint32_t unused;
} penstock_event;

/* Returns the PENSTOCK_ABI_VERSION of the library. */
uint32_t penstock_abi_version(void);
/* Returns the version of the library, such as "0.2.0". */
const char *penstock_version(void);
/* Returns the last error of this thread; empty if there is none. Valid until the next call in this thread. */
const char *penstock_last_error(void);

/* Opens a scenario file. `seed` is NULL, or points to a seed that replaces that of the scenario. NULL on error. */
penstock_session *penstock_open(const char *path, const uint64_t *seed);
/* Opens the text of a scenario. `name` is its file name in messages; file names in it are relative to that folder. */
penstock_session *penstock_open_text(const char *text, const char *name, const uint64_t *seed);
/* Closes and frees a session; `session` may be NULL. */
void penstock_close(penstock_session *session);

/* Returns the number of ranks; 0 on error. */
uint32_t penstock_ranks(const penstock_session *session);
/* Looks up the rank of a host. */
int32_t penstock_rank(const penstock_session *session, const char *host, uint32_t *rank);
/* Returns the name of a rank's host; NULL on error. Valid until the session is closed. */
const char *penstock_host(const penstock_session *session, uint32_t rank);
/* Return the current time of the run, and the duration of the scenario; 0 on error. */
uint64_t penstock_now(const penstock_session *session);
uint64_t penstock_duration(const penstock_session *session);
/* Returns the number of messages, computations and timers that have not ended. */
uint64_t penstock_under_way(const penstock_session *session);

/* Sends a message at `at`, which may be PENSTOCK_NOW; `id` may be NULL. */
int32_t penstock_send(penstock_session *session, uint32_t from, uint32_t to, uint64_t bytes, uint64_t at, uint64_t *id);
/* Occupies the processor of a rank for `time`, starting at `at` or when its earlier work has ended. */
int32_t penstock_compute(penstock_session *session, uint32_t rank, uint64_t time, uint64_t at, uint64_t *id);
/* Starts a timer that expires at `at`. */
int32_t penstock_timer(penstock_session *session, uint64_t at, uint64_t *id);
/* Cancels a timer. Returns 1, or 0 if it has expired already. */
int32_t penstock_cancel(penstock_session *session, uint64_t id);

/* Runs up to the next events before `until`, or up to `until`. Returns PENSTOCK_EVENTS, ... */
int32_t penstock_run(penstock_session *session, uint64_t until);
/* Takes up to `capacity` events, in order of time. Returns their number. */
size_t penstock_take_events(penstock_session *session, penstock_event *events, size_t capacity);

/* Starts recording requests. */
int32_t penstock_record(penstock_session *session);
/* Writes the recorded requests as a file for workload = { messages = "FILE" }. */
int32_t penstock_write_messages(const penstock_session *session, const char *path);

/* Runs until all messages have ended. Then writes each table of the result to DIRECTORY/TABLE.csv, unless `directory`
 * is NULL, and the fingerprint of the run to `fingerprint`, unless it is NULL. The session accepts no more requests. */
int32_t penstock_finish(penstock_session *session, const char *directory, uint64_t *fingerprint);

#ifdef __cplusplus
}
#endif

#endif
