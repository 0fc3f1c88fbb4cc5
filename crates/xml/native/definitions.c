/* Compiles schemas, stylesheets and XPath expressions once, and applies them with separate handlers
 * and limits each time. */
#include "shim.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include <libxml/xpathInternals.h>
#include <libxslt/security.h>
#include <libxslt/transform.h>
#include <libxslt/variables.h>
#include <libxslt/xsltutils.h>

/* Compiles a schema. The document belongs to the caller and must outlive the schema. */
xmlSchemaPtr shim_schema(xmlDocPtr document, shim_report *report) {
    xmlSchemaParserCtxtPtr parser = xmlSchemaNewDocParserCtxt(document);
    xmlSchemaPtr schema;
    if (parser == NULL)
        return NULL;
    xmlSchemaSetParserStructuredErrors(parser, shim_structured, report);
    schema = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
    return schema;
}

xmlSchemaValidCtxtPtr shim_validator(xmlSchemaPtr schema) { return xmlSchemaNewValidCtxt(schema); }

/* Validates the element and its descendants, or the whole document if `element` is NULL. Returns 0
 * if the input is valid, a positive error code if it is invalid, and a negative number if the
 * library failed. */
int shim_validate(xmlSchemaValidCtxtPtr validator, xmlDocPtr document, xmlNode *element, shim_report *report) {
    int result;
    xmlSchemaSetValidStructuredErrors(validator, shim_structured, report);
    shim_validating(document);
    result = element == NULL ? xmlSchemaValidateDoc(validator, document)
                             : xmlSchemaValidateOneElement(validator, element);
    shim_validating(NULL);
    xmlSchemaSetValidStructuredErrors(validator, NULL, NULL);
    return result;
}

/* Compiles a stylesheet. Takes ownership of the document, even on failure. */
xsltStylesheetPtr shim_stylesheet(xmlDocPtr document) {
    xsltStylesheetPtr style = xsltParseStylesheetDoc(document);
    if (style == NULL) {
        xmlFreeDoc(document);
        return NULL;
    }
    if (style->errors != 0) {
        xsltFreeStylesheet(style);
        return NULL;
    }
    return style;
}

static void on_transform_error(void *report, const char *format, ...) {
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    shim_tell(report, XML_FROM_XSLT, 0, XML_ERR_ERROR, message);
}

/* The preferences that forbid stylesheets to read or write anything: no document(), no
 * xsl:document, no network. All transformations share the preferences, which never change after
 * their creation. */
static xsltSecurityPrefsPtr nothing_allowed;

int shim_forbid_access(void) {
    static const xsltSecurityOption options[] = {
        XSLT_SECPREF_READ_FILE,    XSLT_SECPREF_WRITE_FILE,    XSLT_SECPREF_CREATE_DIRECTORY,
        XSLT_SECPREF_READ_NETWORK, XSLT_SECPREF_WRITE_NETWORK,
    };
    nothing_allowed = xsltNewSecurityPrefs();
    for (size_t i = 0; nothing_allowed != NULL && i < sizeof options / sizeof *options; i++)
        if (xsltSetSecurityPrefs(nothing_allowed, options[i], xsltSecurityForbid) != 0)
            return 0;
    return nothing_allowed != NULL;
}

/* Refuses to sort too many nodes, because libxslt's sort can take quadratic time. */
static void sort_some(xsltTransformContextPtr context, xmlNodePtr *sorts, int count) {
    const shim_transform_limits *limits = context->_private;
    if (context->nodeList == NULL || context->nodeList->nodeNr <= limits->sorted_max) {
        xsltDefaultSortFunction(context, sorts, count);
        return;
    }
    xsltTransformError(context, NULL, context->inst, "xsl:sort : more than %d nodes\n", limits->sorted_max);
    context->state = XSLT_STATE_STOPPED;
}

/* Reports whether the nodes of a document can be sorted quickly enough. Each expression selects
 * nodes and then sorts them in a single step, which cannot be interrupted. */
static int can_be_put_in_order(xmlDocPtr document, unsigned long rows_max, const shim_report *report) {
    if (shim_rows(document) <= rows_max)
        return 1;
    shim_tell(report, XML_FROM_XPATH, 0, XML_ERR_ERROR,
              "Too many comments and processing instructions follow each other; remove some of them");
    return 0;
}

/* Transforms a document. Returns NULL on failure, with the reasons in the report. `parameters`
 * alternates names and plain strings, and ends with NULL. */
xmlDocPtr shim_transform(xsltStylesheetPtr style, xmlDocPtr document, const char **parameters,
                         const shim_transform_limits *limits, shim_report *report) {
    xsltTransformContextPtr context;
    xmlDocPtr result = NULL;
    if (!can_be_put_in_order(document, limits->rows_max, report))
        return NULL;
    context = xsltNewTransformContext(style, document);
    if (context != NULL && xsltSetCtxtSecurityPrefs(nothing_allowed, context) == 0) {
        shim_use_functions(context->xpathCtxt, 1);
        xsltSetTransformErrorFunc(context, report, on_transform_error);
        xsltSetCtxtSortFunc(context, sort_some);
        context->_private = (void *)limits;
        context->maxTemplateDepth = limits->depth_max;
        context->opLimit = limits->operations_max;
        context->xpathCtxt->opLimit = limits->operations_max;
        shim_running(context, NULL);
        if (xsltQuoteUserParams(context, parameters) == 0)
            result = xsltApplyStylesheetUser(style, document, NULL, NULL, NULL, context);
        shim_running(NULL, NULL);
        if (result != NULL && context->state != XSLT_STATE_OK) {
            xmlFreeDoc(result);
            result = NULL;
        }
    }
    if (context != NULL)
        xsltFreeTransformContext(context);
    return result;
}

/* Compiles an expression. Errors go to the thread's handler, because a context's handler would
 * receive an error without its message. */
xmlXPathCompExprPtr shim_xpath(const char *expression) { return xmlXPathCompile((const xmlChar *)expression); }

xmlXPathContextPtr shim_xpath_context(void) {
    xmlXPathContextPtr context = xmlXPathNewContext(NULL);
    if (context != NULL)
        shim_use_functions(context, 0);
    return context;
}

int shim_xpath_namespace(xmlXPathContextPtr context, const char *prefix, const char *uri) {
    return xmlXPathRegisterNs(context, (const xmlChar *)prefix, (const xmlChar *)uri) == 0;
}

/* Evaluates an expression, and sets `text` to the text of the first node, which the caller frees
 * with shim_free, or to NULL if there is none. Returns a positive number on success, 0 if the
 * evaluation failed, and a negative number if the document or the evaluation exceeds a limit. */
int shim_xpath_first(xmlXPathContextPtr context, xmlXPathCompExprPtr expression, xmlDocPtr document,
                     unsigned long operations_max, unsigned long rows_max, char **text,
                     const shim_report *report) {
    xmlXPathObjectPtr found;
    *text = NULL;
    if (!can_be_put_in_order(document, rows_max, report))
        return -1;
    context->doc = document;
    context->node = (xmlNodePtr)document;
    context->opLimit = operations_max;
    context->opCount = 0;
    /* Number the elements, as a transformation does. Otherwise, comparing two nodes would walk from
     * one to the other. */
    xmlXPathOrderDocElems(document);
    shim_running(NULL, context);
    found = xmlXPathCompiledEval(expression, context);
    shim_running(NULL, NULL);
    context->doc = NULL;
    context->node = NULL;
    /* After too many steps, libxml2 leaves their count at the limit. */
    if (found == NULL)
        return context->opCount >= context->opLimit ? -1 : 0;
    if (found->type == XPATH_NODESET && found->nodesetval != NULL && found->nodesetval->nodeNr > 0) {
        xmlXPathNodeSetSort(found->nodesetval);
        *text = (char *)xmlNodeGetContent(found->nodesetval->nodeTab[0]);
    }
    xmlXPathFreeObject(found);
    return 1;
}
