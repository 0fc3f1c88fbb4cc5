/* Parsing with limits that hold while the parser works, and without any way out of the bytes given. */
#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <libxml/parserInternals.h>

/* In messages of our own. */
#define REFUSED XML_ERR_USER_STOP

static const shim_parse_options *options_of(xmlParserCtxtPtr parser) { return parser->_private; }

static void refuse(xmlParserCtxtPtr parser, const char *message) {
    const shim_parse_options *options = options_of(parser);
    shim_error error = {
        .domain = XML_FROM_PARSER,
        .code = REFUSED,
        .level = XML_ERR_FATAL,
        .line = parser->input == NULL ? 0 : parser->input->line,
        .message = message,
    };
    if (!parser->disableSAX)
        options->report.sink(options->report.data, &error);
    xmlStopParser(parser);
    parser->wellFormed = 0;
}

static void on_error(void *user, shim_xml_error error) {
    xmlParserCtxtPtr parser = user;
    /* Told with the refusal. */
    if (error->code == XML_ERR_USER_STOP)
        return;
    shim_forward(&options_of(parser)->report, error);
}

/* After a mistake a parser reads on to tell of others, without calling anybody: no limit would hold then. Of a
 * large document only the mistakes before the next tag are told. */
#define LARGE_BYTES (16 << 10)

static int is_over(xmlParserCtxtPtr parser) { return parser->recovery && !parser->wellFormed; }

static int too_long(const xmlChar **attributes, int count, size_t bytes_max) {
    for (int i = 0; i < count; i++)
        if ((size_t)(attributes[5 * i + 4] - attributes[5 * i + 3]) > bytes_max)
            return 1;
    return 0;
}

static void on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespaces, const xmlChar **namespace_pairs, int attributes, int defaulted,
                     const xmlChar **values) {
    xmlParserCtxtPtr parser = user;
    const shim_parse_options *limits = options_of(parser);
    char message[160] = "";
    if (is_over(parser)) {
        xmlStopParser(parser);
        return;
    }
    if (parser->nodeNr >= limits->depth_max)
        snprintf(message, sizeof message, "Elements are nested deeper than %d", limits->depth_max);
    else if (attributes + namespaces > limits->attributes_max)
        snprintf(message, sizeof message, "An element has more than %d attributes", limits->attributes_max);
    else if (parser->nsNr / 2 > limits->namespaces_max)
        snprintf(message, sizeof message, "More than %d namespaces are in scope", limits->namespaces_max);
    else if (too_long(values, attributes, limits->attribute_bytes_max))
        snprintf(message, sizeof message, "An attribute is longer than %zu bytes", limits->attribute_bytes_max);
    if (message[0] != 0)
        refuse(parser, message);
    else
        xmlSAX2StartElementNs(user, name, prefix, uri, namespaces, namespace_pairs, attributes, defaulted, values);
}

static void on_entity_declaration(void *user, const xmlChar *name, int type, const xmlChar *public_id,
                                  const xmlChar *system_id, xmlChar *content) {
    xmlParserCtxtPtr parser = user;
    const shim_parse_options *options = options_of(parser);
    if (type != XML_INTERNAL_GENERAL_ENTITY && type != XML_INTERNAL_PARAMETER_ENTITY) {
        refuse(parser, "External entities are not allowed");
        return;
    }
    if (!options->entity_declared(options->report.data, (const char *)name, (const char *)content)) {
        refuse(parser, "Too many entities");
        return;
    }
    xmlSAX2EntityDecl(user, name, type, public_id, system_id, content);
}

static int affordable(xmlParserCtxtPtr parser, const xmlChar *name) {
    const shim_parse_options *options = options_of(parser);
    if (options->entity_referenced(options->report.data, (const char *)name))
        return 1;
    refuse(parser, "Entities expand to more than is allowed");
    return 0;
}

static xmlEntityPtr on_entity(void *user, const xmlChar *name) {
    return affordable(user, name) ? xmlSAX2GetEntity(user, name) : NULL;
}

static xmlEntityPtr on_parameter_entity(void *user, const xmlChar *name) {
    return affordable(user, name) ? xmlSAX2GetParameterEntity(user, name) : NULL;
}

static xmlParserInputPtr on_resolve(void *user, const xmlChar *public_id, const xmlChar *system_id) {
    (void)user, (void)public_id, (void)system_id;
    return NULL;
}

/* An external subset is named by the document and never read. */
static void on_external_subset(void *user, const xmlChar *name, const xmlChar *public_id,
                               const xmlChar *system_id) {
    (void)user, (void)name, (void)public_id, (void)system_id;
}

/* Up to this size a document is copied onto the stack, to be read there. */
#define SMALL_BYTES ((size_t)8 << 10)

/* Whether the bytes are UTF-8 by what they say of themselves, as nearly all messages are. What is in doubt is not. */
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

/* Reads `text`, which ends with a zero byte, where it lies. By the other way libxml2 copies a text, enlarges the copy by
 * 4,000 bytes for what might follow, and asks near its end again and again whether something does. */
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
    if (length > SMALL_BYTES || !is_plainly_utf8(bytes, length))
        return xmlCtxtReadMemory(parser, bytes, (int)length, url, NULL, flags);
    memcpy(text, bytes, length);
    text[length] = 0;
    return read_in_place(parser, text, url, flags);
}

/* NULL where the bytes are not well-formed or a limit refused them; the reasons are in the report. */
xmlDocPtr shim_parse(const char *bytes, int length, const char *url, const shim_parse_options *options) {
    /* Entities are replaced and CDATA becomes text, which is what schemas, XPath and XSLT are defined on. */
    int flags = XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_NOCDATA | XML_PARSE_COMPACT | XML_PARSE_BIG_LINES;
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    xmlDocPtr document;
    if (parser == NULL)
        return NULL;
    /* By this it still calls us after a mistake, so that we can stop it. */
    if (length > LARGE_BYTES)
        flags |= XML_PARSE_RECOVER;
    parser->_private = (void *)options;
    parser->sax->serror = on_error;
    parser->sax->startElementNs = on_start;
    parser->sax->entityDecl = on_entity_declaration;
    parser->sax->getEntity = on_entity;
    parser->sax->getParameterEntity = on_parameter_entity;
    parser->sax->resolveEntity = on_resolve;
    parser->sax->externalSubset = on_external_subset;
    document = read_document(parser, bytes, (size_t)length, url, flags);
    if (document != NULL && !parser->wellFormed) {
        xmlFreeDoc(document);
        document = NULL;
    }
    xmlFreeParserCtxt(parser);
    return document;
}
