/* What libxml2 and libxslt keep per process or per thread: set up once, so that no request, and no error of
 * one, can reach another thread. */
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

/* The depth of the stack that no evaluation may touch. What follows a stop unwinds and needs little. */
#define STACK_RESERVE_BYTES ((size_t)384 << 10)

/* Allocations from this size on fail when the budget is spent. Small ones never do: the libraries
 * survive a failed large string or buffer far better than a failed node, and a stop follows soon. */
#define LARGE_BYTES ((size_t)64 << 10)

/* A thread is interrupted to look at the clock each time it has used this much CPU time. */
#define TICK_NS 10000000

/* glibc 2.36 lacks the name that the manual page uses for it. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define ENDED_BY_MEMORY 1
#define ENDED_BY_STACK 2
#define ENDED_BY_TIME 3

/* What is volatile here is read or written by on_tick too, which interrupts everything else on its thread. */
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

/* The signal of the timers; 0 if there is none. */
static int tick_signal;

/* The key whose destructor deletes the timer of a thread that ends. */
static pthread_key_t timer_key;

/* Below any count of steps, so that the next one is too many. Nothing but a new evaluation sets the limit, while the
 * count itself may be read, and written again, around an interruption. */
static void stop_steps(xmlXPathContextPtr xpath) {
    if (xpath != NULL)
        xpath->opLimit = 1;
}

/* Stops what runs on this thread at its next instruction or step. A parser asks by itself, and a validation is stopped
 * when it next allocates. A signal handler may call this: it writes a few words. */
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

/* The CPU time of this thread. */
static long long cpu_ns(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int is_late(void) { return here.ends_at_ns != LLONG_MAX && cpu_ns() > here.ends_at_ns; }

/* Starts or stops the timer of this thread. */
static void set_tick(long interval_ns) {
    const struct itimerspec time = {.it_interval.tv_nsec = interval_ns, .it_value.tv_nsec = interval_ns};
    here.is_ticking = interval_ns != 0;
    timer_settime(here.timer, 0, &time, NULL);
}

/* Evaluations that compare many nodes allocate nothing meanwhile: this interrupts them. A thread that no longer works
 * within a budget is left in peace. */
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

/* The timer continues from budget to budget, so that a message seldom costs a system call. */
static void keep_ticking(void) {
    if (!here.has_timer)
        make_timer();
    if (here.has_timer && !here.is_ticking)
        set_tick(TICK_NS);
}

/* Takes a signal that is not in use. A program that is started does not inherit it, nor does a process that
 * is forked inherit the timers. */
static int claim_signal(void) {
    const struct sigaction ticks = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction others;
    /* valgrind uses the last one. */
    for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN && tick_signal == 0; signal--)
        if (sigaction(signal, NULL, &others) == 0 && others.sa_handler == SIG_DFL &&
            sigaction(signal, &ticks, NULL) == 0)
            tick_signal = signal;
    return pthread_key_create(&timer_key, delete_timer) == 0;
}

/* Checks every allocation against the budget, and cuts a validation that must end. */
static int allowed(size_t bytes) {
    if (!here.counting)
        return 1;
    if ((uintptr_t)__builtin_frame_address(0) < here.stack_floor)
        end_by(ENDED_BY_STACK);
    /* Timers can be scarce. */
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

/* Reports whether this thread may allocate that many bytes at once; if not, its work has ended. */
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

/* Bounds the further memory of libxml2 and libxslt on this thread, and the CPU time until shim_budget_end; 0 ns
 * are no bound. */
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

/* 0, or the reason why the work ended: 1 memory, 2 the depth of the stack, 3 time. */
int shim_budget_end(void) {
    here.counting = 0;
    return here.ended_by;
}

/* Reports whether the budget of this thread is spent. */
int shim_is_over(void) { return here.counting && here.ended_by != 0; }

/* Gives way to everything else that wants the processor. Not SCHED_IDLE: a thread that never runs could
 * hold a lock of the allocator for ever. */
void shim_in_background(void) {
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_BATCH, &none);
    setpriority(PRIO_PROCESS, 0, 19);
}

/* What a spent budget stops; NULL and NULL when it is over. */
void shim_running(xsltTransformContextPtr transform, xmlXPathContextPtr xpath) {
    here.transform = transform;
    here.xpath = xpath;
    if (shim_is_over())
        end_by(here.ended_by);
}

/* The same for the validation of a document; NULL when it is over. The document is whole again then. */
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
    /* In libxml2 the name stands at the same place in every kind of node that errors name. */
    if (node != NULL)
        copy.node_name = (const char *)node->name;
    if (report->sink != NULL)
        report->sink(report->data, &copy);
}

/* A handler of one context: its user data is the report. */
void shim_structured(void *report, shim_xml_error error) { shim_forward(report, error); }

/* The handlers of the thread, for the places in the libraries that know no context. */
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

/* Sends the thread's errors to `report`; returns where they went before. */
shim_report shim_listen(shim_report report) {
    shim_report before = here.report;
    if (!here.prepared) {
        /* libxml2 keeps these two per thread. */
        xmlSetStructuredErrorFunc(NULL, structured_of_thread);
        xmlSetGenericErrorFunc(NULL, generic_of_thread);
        here.prepared = 1;
    }
    here.report = report;
    return before;
}

/* The only access to other documents, for both libraries: no file, no network, only the given texts. */
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
    /* By this the schema parser knows a document that is not there from one that does not parse. */
    xmlLastError.domain = XML_FROM_IO;
    xmlLastError.code = XML_IO_LOAD_ERROR;
    return NULL;
}

/* Must be called once, before everything else. 0 if the libraries cannot be used. */
int shim_start(shim_fetch fetch) {
    fetch_import = fetch;
    if (!shim_memory_start() || !claim_signal() ||
        xmlMemSetup(shim_release, counted_malloc, counted_realloc, counted_strdup) != 0)
        return 0;
    xmlInitParser();
    /* Built lazily by the first schema otherwise, and without a lock. */
    xmlSchemaInitTypes();
    xmlSetExternalEntityLoader(gate);
    xsltInit();
    /* libxslt has one handler for the process; ours sends a message to the thread that caused it. */
    xsltSetGenericErrorFunc(NULL, generic_of_thread);
    if (!shim_forbid_access())
        return 0;
    return xmlHasFeature(XML_WITH_THREAD) && xmlHasFeature(XML_WITH_SCHEMAS);
}
