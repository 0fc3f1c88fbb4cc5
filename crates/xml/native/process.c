/* Sets up the state of libxml2 and libxslt, once per process and per thread, so that no request or
 * error can affect another thread. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <libxml/schemasInternals.h>
#include <libxml/xmlschemastypes.h>
#include <libxslt/xslt.h>
#include <libxslt/xsltutils.h>

/* The part of the stack that evaluations must leave free. Unwinding after a stop needs only a
 * little of it. */
#define STACK_RESERVE_BYTES ((size_t)384 << 10)

/* The minimum size of allocations that fail when the budget is spent. Smaller ones still succeed,
 * because the libraries handle a failed large string or buffer far better than a failed node, and
 * the work stops soon anyway. */
#define LARGE_BYTES ((size_t)64 << 10)

/* The interval, in a thread's CPU time, at which a signal interrupts the thread to read the
 * clock. */
#define TICK_NS 10000000

/* glibc 2.36 does not define the name that the manual page documents. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define ENDED_BY_MEMORY 1
#define ENDED_BY_STACK 2
#define ENDED_BY_TIME 3

/* The state of this thread. The signal handler on_tick, which can interrupt any other code on the
 * thread, also accesses the volatile members. */
static _Thread_local struct {
    int prepared;
    volatile sig_atomic_t counting;
    volatile sig_atomic_t ended_by;
    volatile sig_atomic_t has_timer;
    volatile sig_atomic_t is_ticking;
    timer_t timer;
    long held_max;
    volatile long long ends_at_ns;
    uintptr_t stack_floor;
    xsltTransformContextPtr volatile transform;
    xmlXPathContextPtr volatile xpath;
    xmlDocPtr validated;
    shim_report report;
} here;

static shim_fetch fetch_import;

/* The signal of the timers; 0 if none is available. */
static int tick_signal;

/* The key whose destructor deletes the timer of a thread that ends. */
static pthread_key_t timer_key;

/* Makes the next step exceed the limit. This changes the limit, which only a new evaluation sets,
 * and not the count, which the interrupted code may be about to write back. */
static void stop_steps(xmlXPathContextPtr xpath) {
    if (xpath != NULL)
        xpath->opLimit = 1;
}

/* Stops the current work of this thread at its next instruction or step. A parser checks by itself
 * whether the budget is spent, and a validation stops at its next allocation. A signal handler may
 * call this function, because it only writes a few words. */
static void end_by(int reason) {
    xsltTransformContextPtr transform = here.transform;
    if (here.ended_by == 0)
        here.ended_by = reason;
    if (transform != NULL) {
        transform->state = XSLT_STATE_STOPPED;
        stop_steps(transform->xpathCtxt);
    }
    stop_steps(here.xpath);
}

static long long cpu_ns(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int is_late(void) { return here.ends_at_ns != LLONG_MAX && cpu_ns() > here.ends_at_ns; }

static void set_tick(long interval_ns) {
    const struct itimerspec time = {.it_interval.tv_nsec = interval_ns, .it_value.tv_nsec = interval_ns};
    here.is_ticking = interval_ns != 0;
    timer_settime(here.timer, 0, &time, NULL);
}

/* Handles the timer signal. Stops evaluations that compare many nodes without allocating memory. If
 * the thread no longer works within a budget, stops the timer. */
static void on_tick(int signal) {
    int error = errno;
    (void)signal;
    if (here.counting) {
        if (is_late())
            end_by(ENDED_BY_TIME);
    } else if (here.has_timer) {
        set_tick(0);
    }
    errno = error;
}

static void delete_timer(void *unused) {
    (void)unused;
    here.has_timer = 0;
    here.is_ticking = 0;
    timer_delete(here.timer);
}

static void make_timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = tick_signal};
    sigset_t ticks;
    if (tick_signal == 0)
        return;
    event.sigev_notify_thread_id = gettid();
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    if (pthread_sigmask(SIG_UNBLOCK, &ticks, NULL) != 0 ||
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &here.timer) != 0)
        return;
    here.has_timer = pthread_setspecific(timer_key, &here) == 0;
    if (!here.has_timer)
        timer_delete(here.timer);
}

/* Starts the timer unless it is running. The timer continues from one budget to the next, so a
 * message rarely needs to set it. */
static void keep_ticking(void) {
    if (!here.has_timer)
        make_timer();
    if (here.has_timer && !here.is_ticking)
        set_tick(TICK_NS);
}

/* Claims an unused signal. Programs that this process starts do not inherit its handler, and forked
 * processes do not inherit the timers. */
static int claim_signal(void) {
    const struct sigaction ticks = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction others;
    /* Leave the last signal to valgrind. */
    for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN && tick_signal == 0; signal--)
        if (sigaction(signal, NULL, &others) == 0 && others.sa_handler == SIG_DFL &&
            sigaction(signal, &ticks, NULL) == 0)
            tick_signal = signal;
    return pthread_key_create(&timer_key, delete_timer) == 0;
}

/* Checks an allocation against the budget, and stops a validation whose budget is spent. */
static int allowed(size_t bytes) {
    if (!here.counting)
        return 1;
    if ((uintptr_t)__builtin_frame_address(0) < here.stack_floor)
        end_by(ENDED_BY_STACK);
    /* The system may have no timer left for this thread. */
    if (!here.has_timer && is_late())
        end_by(ENDED_BY_TIME);
    if (shim_held_bytes > here.held_max - (long)bytes)
        end_by(ENDED_BY_MEMORY);
    if (here.ended_by == 0)
        return 1;
    if (here.validated != NULL)
        shim_cut(here.validated);
    return bytes < LARGE_BYTES;
}

/* Reports whether this thread may allocate this many bytes at once. If it may not, its work has
 * ended. */
int shim_may_hold(size_t bytes) { return allowed(bytes); }

static void *counted_malloc(size_t bytes) { return allowed(bytes) ? shim_allocate(bytes) : NULL; }

static void *counted_realloc(void *old, size_t bytes) {
    return allowed(bytes) ? shim_reallocate(old, bytes) : NULL;
}

static char *counted_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = counted_malloc(bytes);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

static uintptr_t stack_floor_of_thread(void) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)lowest + (bytes > 2 * STACK_RESERVE_BYTES ? STACK_RESERVE_BYTES : bytes / 2);
}

/* Limits the CPU time of this thread, and the additional memory that libxml2 and libxslt may use on
 * it, until shim_budget_end. A `time_ns` of 0 means no time limit. */
void shim_budget_begin(size_t held_bytes, long long time_ns) {
    if (here.stack_floor == 0) {
        here.stack_floor = stack_floor_of_thread();
        shim_keep_pieces();
    }
    here.held_max = shim_held_bytes + (long)held_bytes;
    here.ends_at_ns = time_ns == 0 ? LLONG_MAX : cpu_ns() + time_ns;
    here.ended_by = 0;
    here.counting = 1;
    if (time_ns != 0)
        keep_ticking();
}

/* Ends the budget. Returns 0, or the reason why the work ended: 1 for memory, 2 for stack depth, 3
 * for time. */
int shim_budget_end(void) {
    here.counting = 0;
    return here.ended_by;
}

int shim_is_over(void) { return here.counting && here.ended_by != 0; }

/* Gives this thread the lowest priority, but not SCHED_IDLE: a thread that never runs could hold a
 * lock of the allocator forever. */
void shim_in_background(void) {
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_BATCH, &none);
    setpriority(PRIO_PROCESS, 0, 19);
}

/* Sets the transformation and the expression that a spent budget stops. Pass NULL for both when the
 * evaluation is over. */
void shim_running(xsltTransformContextPtr transform, xmlXPathContextPtr xpath) {
    here.transform = transform;
    here.xpath = xpath;
    if (shim_is_over())
        end_by(here.ended_by);
}

/* Sets the document whose validation a spent budget stops. Pass NULL when the validation is over,
 * which restores the document. */
void shim_validating(xmlDocPtr document) {
    here.validated = document;
    if (document == NULL)
        shim_mend();
    else if (shim_is_over())
        shim_cut(document);
}

void shim_tell(const shim_report *report, int domain, int code, int level, const char *message) {
    shim_error error = {.domain = domain, .code = code, .level = level, .message = message};
    if (report->sink != NULL)
        report->sink(report->data, &error);
}

void shim_forward(const shim_report *report, shim_xml_error error) {
    shim_error copy = {
        .domain = error->domain,
        .code = error->code,
        .level = error->level,
        .line = error->line,
        .message = error->message,
        .node = error->node,
    };
    const xmlNode *node = error->node;
    /* In libxml2, the name is at the same offset in every kind of node that errors refer to. */
    if (node != NULL)
        copy.node_name = (const char *)node->name;
    if (report->sink != NULL)
        report->sink(report->data, &copy);
}

/* The error handler of a context, whose user data is the report. */
void shim_structured(void *report, shim_xml_error error) { shim_forward(report, error); }

/* The error handlers of the thread, for code in the libraries that has no context. */
static void structured_of_thread(void *unused, shim_xml_error error) {
    (void)unused;
    shim_forward(&here.report, error);
}

static void generic_of_thread(void *unused, const char *format, ...) {
    char message[2048];
    va_list arguments;
    (void)unused;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    shim_tell(&here.report, XML_FROM_XSLT, 0, XML_ERR_ERROR, message);
}

/* Sends the thread's errors to `report`, and returns the previous report. */
shim_report shim_listen(shim_report report) {
    shim_report before = here.report;
    if (!here.prepared) {
        /* libxml2 stores these two handlers per thread. */
        xmlSetStructuredErrorFunc(NULL, structured_of_thread);
        xmlSetGenericErrorFunc(NULL, generic_of_thread);
        here.prepared = 1;
    }
    here.report = report;
    return before;
}

/* Loads other documents for both libraries. Only texts that are provided can be loaded, neither
 * files nor network resources. */
static xmlParserInputPtr gate(const char *url, const char *id, xmlParserCtxtPtr parser) {
    size_t length = 0;
    const char *bytes = url == NULL ? NULL : fetch_import(url, &length);
    char message[1024];
    (void)id;
    if (bytes != NULL && length < INT32_MAX) {
        xmlParserInputBufferPtr buffer =
            xmlParserInputBufferCreateMem(bytes, (int)length, XML_CHAR_ENCODING_NONE);
        xmlParserInputPtr input =
            buffer == NULL ? NULL : xmlNewIOInputStream(parser, buffer, XML_CHAR_ENCODING_NONE);
        if (input != NULL && input->filename == NULL)
            input->filename = (const char *)xmlStrdup((const xmlChar *)url);
        return input;
    }
    snprintf(message, sizeof message, "failed to load external entity \"%s\"\n", url == NULL ? "" : url);
    shim_tell(&here.report, XML_FROM_IO, XML_IO_LOAD_ERROR, XML_ERR_WARNING, message);
    /* Let the schema parser distinguish a missing document from one that cannot be parsed. */
    xmlLastError.domain = XML_FROM_IO;
    xmlLastError.code = XML_IO_LOAD_ERROR;
    return NULL;
}

/* Initializes the libraries. Must be called once, before any other function. Returns 0 if the
 * libraries cannot be used. */
int shim_start(shim_fetch fetch) {
    fetch_import = fetch;
    if (!shim_memory_start() || !claim_signal() ||
        xmlMemSetup(shim_release, counted_malloc, counted_realloc, counted_strdup) != 0)
        return 0;
    xmlInitParser();
    /* Otherwise, the first schema would build the types without a lock. */
    xmlSchemaInitTypes();
    xmlSetExternalEntityLoader(gate);
    xsltInit();
    /* libxslt has one handler per process. This one sends each message to the thread that caused
     * it. */
    xsltSetGenericErrorFunc(NULL, generic_of_thread);
    if (!shim_forbid_access())
        return 0;
    return xmlHasFeature(XML_WITH_THREAD) && xmlHasFeature(XML_WITH_SCHEMAS);
}
