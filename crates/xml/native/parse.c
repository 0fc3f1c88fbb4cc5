/* Parses documents under limits that apply during parsing, and reads nothing but the given
 * bytes. */
#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <libxml/parserInternals.h>
#include <libxml/valid.h>

/* The error code of the shim's messages. */
#define REFUSED XML_ERR_USER_STOP

#define BEYOND_BUDGET "Entities expand to more than is allowed"

/* The maximum number of declarations in the document type of a definition, and of tokens in the
 * enumeration of one attribute. */
#define DECLARATIONS_MAX 1000
#define TOKENS_MAX 256

/* The number of mistakes after which a message is read no further. Each mistake costs a
 * microsecond, and every byte can be one. */
#define MISTAKES_MAX 64

/* The size above which a document is large. The parser continues after a mistake in order to report
 * others, but in a large document only up to the next tag. */
#define LARGE_BYTES (16 << 10)

/* The state of the document that is being read. */
struct reading {
    const shim_parse_options *options;
    int is_large;
    int nodes;
    int declarations;
    /* The last declared entity, until the parser looks it up to store its raw text. This lookup
     * does not count as a reference. */
    const xmlChar *declared;
    int declared_is_parameter;
    int mistakes;
    int is_cut;
};

static struct reading *reading_of(xmlParserCtxtPtr parser) { return parser->_private; }

static void stop(xmlParserCtxtPtr parser) {
    xmlStopParser(parser);
    parser->wellFormed = 0;
}

static void refuse(xmlParserCtxtPtr parser, const char *message) {
    const shim_report *report = &reading_of(parser)->options->report;
    shim_error error = {
        .domain = XML_FROM_PARSER,
        .code = REFUSED,
        .level = XML_ERR_FATAL,
        .line = parser->input == NULL ? 0 : parser->input->line,
        .message = message,
    };
    if (!parser->disableSAX)
        report->sink(report->data, &error);
    stop(parser);
}

/* Discards the rest of the input. xmlStopParser would free the text while functions of the parser
 * that report a mistake still point into it. */
static void cut_short(xmlParserCtxtPtr parser) {
    xmlParserInputPtr input = parser->input;
    reading_of(parser)->is_cut = 1;
    if (input == NULL || input->cur == NULL || input->end == NULL)
        return;
#if LIBXML_VERSION < 21300
    /* Only the parser's own copy may be cleared: later versions read the caller's memory in
     * place. */
    memset((xmlChar *)input->cur, 0, (size_t)(input->end - input->cur));
#endif
    if (input->buf != NULL && input->buf->raw != NULL)
        xmlBufShrink(input->buf->raw, xmlBufUse(input->buf->raw));
}

static void on_error(void *user, shim_xml_error error) {
    xmlParserCtxtPtr parser = user;
    struct reading *reading = reading_of(parser);
    /* The refusal has already reported the error, or the error is only a consequence of the
     * discarded input. */
    if (error->code == XML_ERR_USER_STOP || reading->is_cut)
        return;
    shim_forward(&reading->options->report, error);
    reading->mistakes += error->level == XML_ERR_FATAL;
    /* Definitions are never cut short, because they can have entities, whose text is read more than
     * once. */
    if (reading->options->is_message && (reading->mistakes >= MISTAKES_MAX || shim_is_over()))
        cut_short(parser);
}

/* Stops the parser if the budget is spent or a large document has a mistake. Returns 1 if it was
 * stopped. */
static int is_over(xmlParserCtxtPtr parser) {
    if (!shim_is_over() && !(reading_of(parser)->is_large && !parser->wellFormed))
        return 0;
    stop(parser);
    return 1;
}

/* Counts nodes of the tree. Returns 0 if there are too many. */
static int has_room_for(xmlParserCtxtPtr parser, int nodes) {
    struct reading *reading = reading_of(parser);
    char message[160];
    reading->nodes += nodes;
    if (reading->nodes <= reading->options->nodes_max)
        return 1;
    snprintf(message, sizeof message,
             "The document has more than %d elements, attributes, comments and processing instructions",
             reading->options->nodes_max);
    refuse(parser, message);
    return 0;
}

static int has_long_value(const xmlChar **attributes, int count, size_t bytes_max) {
    for (int i = 0; i < count; i++)
        if ((size_t)(attributes[5 * i + 4] - attributes[5 * i + 3]) > bytes_max)
            return 1;
    return 0;
}

static int has_long_name(const xmlChar **namespace_pairs, int count, size_t bytes_max) {
    for (int i = 0; i < count; i++) {
        const char *name = (const char *)namespace_pairs[2 * i + 1];
        if (name != NULL && strnlen(name, bytes_max + 1) > bytes_max)
            return 1;
    }
    return 0;
}

static void on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespaces, const xmlChar **namespace_pairs, int attributes, int defaulted,
                     const xmlChar **values) {
    xmlParserCtxtPtr parser = user;
    const shim_parse_options *limits = reading_of(parser)->options;
    char message[160] = "";
    if (is_over(parser))
        return;
    if (parser->nodeNr >= limits->depth_max)
        snprintf(message, sizeof message, "Elements are nested deeper than %d", limits->depth_max);
    else if (attributes + namespaces > limits->attributes_max)
        snprintf(message, sizeof message, "An element has more than %d attributes", limits->attributes_max);
    else if (parser->nsNr / 2 > limits->namespaces_max)
        snprintf(message, sizeof message, "More than %d namespaces are in scope", limits->namespaces_max);
    else if (has_long_value(values, attributes, limits->attribute_bytes_max))
        snprintf(message, sizeof message, "An attribute is longer than %zu bytes", limits->attribute_bytes_max);
    else if (has_long_name(namespace_pairs, namespaces, limits->namespace_bytes_max))
        snprintf(message, sizeof message, "The name of a namespace is longer than %zu bytes",
                 limits->namespace_bytes_max);
    if (message[0] != 0)
        refuse(parser, message);
    else if (has_room_for(parser, 1 + attributes + namespaces))
        xmlSAX2StartElementNs(user, name, prefix, uri, namespaces, namespace_pairs, attributes, defaulted, values);
}

static void on_comment(void *user, const xmlChar *text) {
    if (!is_over(user) && has_room_for(user, 1))
        xmlSAX2Comment(user, text);
}

static void on_instruction(void *user, const xmlChar *target, const xmlChar *data) {
    if (!is_over(user) && has_room_for(user, 1))
        xmlSAX2ProcessingInstruction(user, target, data);
}

/* Refuses the document type of a message before its declarations are read. */
static void on_document_type(void *user, const xmlChar *name, const xmlChar *public_id,
                             const xmlChar *system_id) {
    (void)name, (void)public_id, (void)system_id;
    refuse(user, "A message may not have a document type; leave DOCTYPE out");
}

/* Handles an unknown entity. A message has no document type, so it has only the entities that are
 * built into the parser, which reports all others as mistakes. */
static xmlEntityPtr on_unknown_entity(void *user, const xmlChar *name) {
    (void)name;
    is_over(user);
    return NULL;
}

/* Counts a declaration. Returns 0 if there are too many. */
static int may_declare(xmlParserCtxtPtr parser) {
    char message[160];
    if (++reading_of(parser)->declarations <= DECLARATIONS_MAX)
        return 1;
    snprintf(message, sizeof message, "The document type has more than %d declarations", DECLARATIONS_MAX);
    refuse(parser, message);
    return 0;
}

static void on_entity_declaration(void *user, const xmlChar *name, int type, const xmlChar *public_id,
                                  const xmlChar *system_id, xmlChar *content) {
    const shim_parse_options *options = reading_of(user)->options;
    int is_parameter = type == XML_INTERNAL_PARAMETER_ENTITY;
    if (type != XML_INTERNAL_GENERAL_ENTITY && !is_parameter) {
        refuse(user, "External entities are not allowed");
        return;
    }
    if (!may_declare(user))
        return;
    if (!options->entity_declared(options->report.data, is_parameter, (const char *)name, (const char *)content)) {
        refuse(user, BEYOND_BUDGET);
        return;
    }
    reading_of(user)->declared = name;
    reading_of(user)->declared_is_parameter = is_parameter;
    xmlSAX2EntityDecl(user, name, type, public_id, system_id, content);
}

static void on_attribute_declaration(void *user, const xmlChar *element, const xmlChar *name, int type, int preset,
                                     const xmlChar *value, xmlEnumerationPtr tokens) {
    int count = 0;
    char message[160];
    for (xmlEnumerationPtr token = tokens; token != NULL; token = token->next)
        count++;
    if (count > TOKENS_MAX) {
        snprintf(message, sizeof message, "An enumeration of the document type has more than %d tokens", TOKENS_MAX);
        refuse(user, message);
    } else if (may_declare(user)) {
        xmlSAX2AttributeDecl(user, element, name, type, preset, value, tokens);
        return;
    }
    xmlFreeEnumeration(tokens);
}

static void on_element_declaration(void *user, const xmlChar *name, int type, xmlElementContentPtr content) {
    if (may_declare(user))
        xmlSAX2ElementDecl(user, name, type, content);
}

static void on_notation_declaration(void *user, const xmlChar *name, const xmlChar *public_id,
                                    const xmlChar *system_id) {
    if (may_declare(user))
        xmlSAX2NotationDecl(user, name, public_id, system_id);
}

static void on_unparsed_entity(void *user, const xmlChar *name, const xmlChar *public_id, const xmlChar *system_id,
                               const xmlChar *notation) {
    (void)name, (void)public_id, (void)system_id, (void)notation;
    refuse(user, "External entities are not allowed");
}

static int is_affordable(xmlParserCtxtPtr parser, int is_parameter, const xmlChar *name) {
    struct reading *reading = reading_of(parser);
    const shim_parse_options *options = reading->options;
    const xmlChar *declared = reading->declared;
    reading->declared = NULL;
    if (declared != NULL && is_parameter == reading->declared_is_parameter && xmlStrEqual(declared, name))
        return 1;
    if (options->entity_referenced(options->report.data, is_parameter, (const char *)name))
        return 1;
    refuse(parser, BEYOND_BUDGET);
    return 0;
}

static xmlEntityPtr on_entity(void *user, const xmlChar *name) {
    return is_affordable(user, 0, name) ? xmlSAX2GetEntity(user, name) : NULL;
}

static xmlEntityPtr on_parameter_entity(void *user, const xmlChar *name) {
    return is_affordable(user, 1, name) ? xmlSAX2GetParameterEntity(user, name) : NULL;
}

static xmlParserInputPtr on_resolve(void *user, const xmlChar *public_id, const xmlChar *system_id) {
    (void)user, (void)public_id, (void)system_id;
    return NULL;
}

/* Ignores the external subset that a document names. */
static void on_external_subset(void *user, const xmlChar *name, const xmlChar *public_id,
                               const xmlChar *system_id) {
    (void)user, (void)name, (void)public_id, (void)system_id;
}

static void listen_to(xmlParserCtxtPtr parser, struct reading *reading) {
    xmlSAXHandlerPtr sax = parser->sax;
    parser->_private = reading;
    sax->serror = on_error;
    sax->startElementNs = on_start;
    sax->comment = on_comment;
    sax->processingInstruction = on_instruction;
    sax->resolveEntity = on_resolve;
    sax->externalSubset = on_external_subset;
    if (reading->options->is_message) {
        sax->internalSubset = on_document_type;
        sax->getEntity = on_unknown_entity;
        return;
    }
    sax->entityDecl = on_entity_declaration;
    sax->unparsedEntityDecl = on_unparsed_entity;
    sax->attributeDecl = on_attribute_declaration;
    sax->elementDecl = on_element_declaration;
    sax->notationDecl = on_notation_declaration;
    sax->getEntity = on_entity;
    sax->getParameterEntity = on_parameter_entity;
}

/* The maximum size of a document that is copied to the stack and read there. */
#define SMALL_BYTES ((size_t)8 << 10)

/* Reports whether the bytes can only be UTF-8: the XML declaration names UTF-8 or no encoding, or
 * is missing, as in nearly all messages. */
static int is_plainly_utf8(const char *bytes, size_t length) {
    const char *end, *name;
    if (length < 5 || bytes[0] != '<' || memchr(bytes, 0, length) != NULL)
        return 0;
    if (memcmp(bytes, "<?xml", 5) != 0)
        return bytes[1] != '?';
    end = memmem(bytes, length, "?>", 2);
    if (end == NULL)
        return 0;
    name = memmem(bytes, (size_t)(end - bytes), "encoding=", 9);
    if (name == NULL)
        return memmem(bytes, (size_t)(end - bytes), "encoding", 8) == NULL;
    name += 9;
    return end - name >= 7 && (*name == '"' || *name == '\'') && strncasecmp(name + 1, "utf-8", 5) == 0 &&
           name[6] == *name;
}

/* Reads `text`, which ends with a zero byte, in place. The usual way is slower: libxml2 copies the
 * text, enlarges the copy by 4,000 bytes for possible further input, and repeatedly asks for input
 * near the end. */
static xmlDocPtr read_in_place(xmlParserCtxtPtr parser, const char *text, const char *url, int flags) {
    xmlParserInputPtr input = xmlNewStringInputStream(parser, (const xmlChar *)text);
    xmlDocPtr document;
    if (input == NULL)
        return NULL;
    if (url != NULL)
        input->filename = (const char *)xmlStrdup((const xmlChar *)url);
    inputPush(parser, input);
    xmlCtxtUseOptions(parser, flags);
    xmlParseDocument(parser);
    document = parser->myDoc;
    parser->myDoc = NULL;
    return document;
}

static xmlDocPtr read_document(xmlParserCtxtPtr parser, const char *bytes, size_t length, const char *url, int flags) {
    char text[SMALL_BYTES + 1];
    if (length > SMALL_BYTES || !is_plainly_utf8(bytes, length)) {
        /* libxml2 2.9.14 copies the bytes into a buffer that doubles in size, and leaks the small
         * initial buffer if the larger one is refused. */
        if (!shim_may_hold(2 * length))
            return NULL;
        return xmlCtxtReadMemory(parser, bytes, (int)length, url, NULL, flags);
    }
    memcpy(text, bytes, length);
    text[length] = 0;
    return read_in_place(parser, text, url, flags);
}

/* Parses a document. Returns NULL if the bytes are not well-formed or exceed a limit, with the
 * reasons in the report. */
xmlDocPtr shim_parse(const char *bytes, int length, const char *url, const shim_parse_options *options) {
    /* Replace entities and turn CDATA into text, because schemas, XPath and XSLT are defined for
     * that form. */
    int flags = XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_NOCDATA | XML_PARSE_COMPACT | XML_PARSE_BIG_LINES;
    struct reading reading = {.options = options, .is_large = length > LARGE_BYTES};
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    xmlDocPtr document;
    if (parser == NULL)
        return NULL;
    /* Make the parser call the handlers even after a mistake, so that a mistake cannot hide an
     * exceeded limit or a document type. */
    if (options->is_message || reading.is_large)
        flags |= XML_PARSE_RECOVER;
    listen_to(parser, &reading);
    document = read_document(parser, bytes, (size_t)length, url, flags);
    if (document != NULL && !parser->wellFormed) {
        xmlFreeDoc(document);
        document = NULL;
    }
    xmlFreeParserCtxt(parser);
    return document;
}
