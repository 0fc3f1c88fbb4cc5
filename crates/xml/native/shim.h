/* The interface to libxml2 and libxslt for Rust. The shim is compiled against the libraries'
 * headers, so it contains all code that depends on their struct layouts, on variadic handlers and
 * on macros. All global state that changes after shim_start is per thread, so every function may be
 * called on any thread from then on. */
#ifndef GATEBENCH_XML_SHIM_H
#define GATEBENCH_XML_SHIM_H

#include <stddef.h>

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlschemas.h>
#include <libxml/xpath.h>
#include <libxslt/xsltInternals.h>

#if LIBXML_VERSION >= 21200
typedef const xmlError *shim_xml_error;
#else
typedef xmlErrorPtr shim_xml_error;
#endif

/* A library's message. All texts end with a zero byte and live until the sink returns. */
typedef struct {
    int domain;
    int code;
    int level;
    int line;
    const char *message;
    const void *node;
    const char *node_name;
} shim_error;

typedef void (*shim_sink)(void *data, const shim_error *error);

typedef struct {
    shim_sink sink;
    void *data;
} shim_report;

/* Returns the text of an import while definitions are being compiled. */
typedef const char *(*shim_fetch)(const char *location, size_t *length);

/* process.c */
int shim_start(shim_fetch fetch);
shim_report shim_listen(shim_report report);
void shim_forward(const shim_report *report, shim_xml_error error);
void shim_tell(const shim_report *report, int domain, int code, int level, const char *message);
void shim_structured(void *report, shim_xml_error error);
void shim_budget_begin(size_t held_bytes, long long time_ns);
int shim_budget_end(void);
int shim_is_over(void);
int shim_may_hold(size_t bytes);
void shim_in_background(void);
void shim_running(xsltTransformContextPtr transform, xmlXPathContextPtr xpath);
void shim_validating(xmlDocPtr document);

/* version.c */
const char *shim_libxml2_version(void);
const char *shim_libxslt_version(void);

/* memory.c */
extern _Thread_local long shim_held_bytes;
int shim_memory_start(void);
void shim_keep_pieces(void);
void *shim_allocate(size_t bytes);
void *shim_reallocate(void *old, size_t bytes);
void shim_release(void *old);

/* parse.c */
typedef struct {
    shim_report report;
    /* True for a message, which must not have a document type. */
    int is_message;
    int depth_max;
    int nodes_max;
    int attributes_max;
    int namespaces_max;
    size_t attribute_bytes_max;
    size_t namespace_bytes_max;
    /* Both callbacks return 0 if the document must be refused. */
    int (*entity_declared)(void *data, int is_parameter, const char *name, const char *content);
    int (*entity_referenced)(void *data, int is_parameter, const char *name);
} shim_parse_options;

xmlDocPtr shim_parse(const char *bytes, int length, const char *url, const shim_parse_options *options);

/* tree.c */
int shim_node_is_element(const xmlNode *node);
const char *shim_node_name(const xmlNode *node);
const char *shim_node_namespace(const xmlNode *node);
const char *shim_node_prefix(const xmlNode *node);
const xmlNode *shim_node_first_element(const xmlNode *node);
const xmlNode *shim_node_next_element(const xmlNode *node);
char *shim_node_attribute(const xmlNode *node, const char *name, const char *namespace);
int shim_node_set_attribute(xmlNode *node, const char *name, const char *value);
char *shim_node_content(const xmlNode *node);
long shim_node_line(const xmlNode *node);
void shim_free(char *text);
xmlDocPtr shim_document_of(const xmlNode *node, const char *url);
int shim_drop_empty_namespaces(xmlDocPtr document);
int shim_is_html(const xmlDoc *document);
unsigned long shim_rows(xmlDocPtr document);
void shim_cut(xmlDocPtr document);
void shim_mend(void);

/* functions.c */
void shim_use_functions(xmlXPathContextPtr context, int of_stylesheet);

/* definitions.c */
xmlSchemaPtr shim_schema(xmlDocPtr document, shim_report *report);
xmlSchemaValidCtxtPtr shim_validator(xmlSchemaPtr schema);
int shim_validate(xmlSchemaValidCtxtPtr validator, xmlDocPtr document, xmlNode *element, shim_report *report);
int shim_forbid_access(void);
xsltStylesheetPtr shim_stylesheet(xmlDocPtr document);
typedef struct {
    int depth_max;
    int sorted_max;
    unsigned long operations_max;
    unsigned long rows_max;
} shim_transform_limits;

xmlDocPtr shim_transform(xsltStylesheetPtr style, xmlDocPtr document, const char **parameters,
                         const shim_transform_limits *limits, shim_report *report);
xmlXPathCompExprPtr shim_xpath(const char *expression);
xmlXPathContextPtr shim_xpath_context(void);
int shim_xpath_namespace(xmlXPathContextPtr context, const char *prefix, const char *uri);
int shim_xpath_first(xmlXPathContextPtr context, xmlXPathCompExprPtr expression, xmlDocPtr document,
                     unsigned long operations_max, unsigned long rows_max, char **text, const shim_report *report);

/* Returns a negative number if no more can be written. */
typedef int (*shim_write)(void *data, const char *bytes, int length);

/* canonical.c */
int shim_canonical(xmlDocPtr document, shim_write write, void *data, shim_report *report);

/* output.c */
typedef struct {
    int text_or_html;
    int omit_declaration;
    int standalone;
    int indent;
    const char *version;
    const char *encoding;
    const char *media_type;
} shim_output;

void shim_style_output(xsltStylesheetPtr style, shim_output *output);
int shim_save_result(xmlDocPtr result, xsltStylesheetPtr style, shim_write write, void *data);

#endif
