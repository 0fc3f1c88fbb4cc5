/* What libxml2 and libxslt keep per process or per thread: set up once, so that no request, and no error of
 * one, can reach another thread. */
#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <libxml/schemasInternals.h>
#include <libxml/xmlschemastypes.h>
#include <libxslt/xslt.h>
#include <libxslt/xsltutils.h>

/* The depth of the stack that no evaluation may touch. What follows a stop unwinds and needs little. */
#define STACK_RESERVE_BYTES ((size_t)384 << 10)

/* Allocations from this size on fail when the budget is spent. Small ones never do: the libraries
 * survive a failed large string or buffer far better than a failed node, and a stop follows soon. */
#define LARGE_BYTES ((size_t)64 << 10)

/* The clock is looked at after so many allocations; each of these bytes counts as one more. */
#define STEPS 256
#define STEP_BYTES 512

#define ENDED_BY_MEMORY 1
#define ENDED_BY_STACK 2
#define ENDED_BY_TIME 3

static _Thread_local struct {
    int prepared;
    int counting;
    int ended_by;
    long held_max;
    long steps_left;
    long long ends_at_ns;
    uintptr_t stack_floor;
    xsltTransformContextPtr transform;
    xmlXPathContextPtr xpath;
    xmlDocPtr validated;
    shim_report report;
} here;

static shim_fetch fetch_import;

/* Stops what runs on this thread at its next instruction, or at the next element that is validated. A parser asks by
 * itself. */
static void end_by(int reason) {
    if (here.ended_by == 0)
        here.ended_by = reason;
    if (here.transform != NULL) {
        here.transform->state = XSLT_STATE_STOPPED;
        if (here.transform->xpathCtxt != NULL)
            here.transform->xpathCtxt->opCount = here.transform->xpathCtxt->opLimit;
    }
    if (here.xpath != NULL)
        here.xpath->opCount = here.xpath->opLimit;
    if (here.validated != NULL)
        shim_cut(here.validated);
}

/* The processor time of this thread. */
static long long cpu_ns(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Every step of an evaluation allocates, so this is where a runaway one is seen. */
static int allowed(size_t bytes) {
    if (!here.counting)
        return 1;
    if ((uintptr_t)__builtin_frame_address(0) < here.stack_floor)
        end_by(ENDED_BY_STACK);
    here.steps_left -= 1 + (long)(bytes / STEP_BYTES);
    if (here.steps_left < 0) {
        here.steps_left = STEPS;
        if (here.ends_at_ns != LLONG_MAX && cpu_ns() > here.ends_at_ns)
            end_by(ENDED_BY_TIME);
    }
    if (shim_held_bytes > here.held_max - (long)bytes)
        end_by(ENDED_BY_MEMORY);
    return here.ended_by == 0 || bytes < LARGE_BYTES;
}

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

/* Bounds what libxml2 and libxslt hold on this thread, beside what they hold already, and the processor time until
 * shim_budget_end; 0 ns are no bound. */
void shim_budget_begin(size_t held_bytes, long long time_ns) {
    if (here.stack_floor == 0) {
        here.stack_floor = stack_floor_of_thread();
        shim_keep_pieces();
    }
    here.held_max = shim_held_bytes + (long)held_bytes;
    here.ends_at_ns = time_ns == 0 ? LLONG_MAX : cpu_ns() + time_ns;
    here.steps_left = STEPS;
    here.ended_by = 0;
    here.counting = 1;
}

/* 0, or what ended the work: 1 memory, 2 the depth of the stack, 3 time. */
int shim_budget_end(void) {
    here.counting = 0;
    return here.ended_by;
}

/* Whether the budget of this thread is spent. */
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
        end_by(here.ended_by);
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

/* The one door to other documents, for both libraries: no file, no network, only what was handed in. */
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

/* To be called once, before everything else. 0 where the libraries cannot be used. */
int shim_start(shim_fetch fetch) {
    fetch_import = fetch;
    if (!shim_memory_start() || xmlMemSetup(shim_release, counted_malloc, counted_realloc, counted_strdup) != 0)
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
