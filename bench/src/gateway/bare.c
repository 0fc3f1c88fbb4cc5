/* The bare work of a SOAP/XML chain: calls libxml2 and libxslt directly for one message after
 * another, with definitions that are compiled once. Prints the CPU time of one round (all steps for
 * one message) in microseconds. A failed step ends the program, so the time always includes the
 * complete work of the scenario.
 *
 *   bare SECONDS MESSAGE STEP...
 *
 * The steps are: parse, envelope FILE (a schema for the document), body FILE (a schema or a WSDL
 * for the first element of the body), xslt FILE, xpath EXPRESSION PREFIX URI, serialize, response
 * FILE (the upstream's response replaces the message). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libxml/c14n.h>
#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <libxslt/transform.h>
#include <libxslt/xsltInternals.h>

/* The gateway's options: entities are replaced, CDATA becomes text, and the network is not used. */
#define OPTIONS (XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_NOCDATA | XML_PARSE_COMPACT)
#define STEPS_MAX 32

enum kind { PARSE, ENVELOPE, BODY, XSLT, XPATH, SERIALIZE, RESPONSE };

struct step {
    enum kind kind;
    xmlSchemaValidCtxtPtr validator;
    xsltStylesheetPtr style;
    xmlXPathContextPtr context;
    xmlXPathCompExprPtr expression;
    char *text;
    int length;
};

/* The state of a round: the message as text and as a tree. A step changes at most one of them. */
static struct {
    xmlChar *text;
    int length;
    xmlDocPtr tree;
} now;

static void fail(const char *what) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static xmlDocPtr read_document(const char *path) {
    xmlDocPtr document = xmlReadFile(path, NULL, OPTIONS);
    if (document == NULL)
        fail(path);
    return document;
}

static xmlNodePtr child_named(xmlNodePtr parent, const char *name) {
    xmlNodePtr child = xmlFirstElementChild(parent);
    while (child != NULL && strcmp((const char *)child->name, name) != 0)
        child = xmlNextElementSibling(child);
    return child;
}

/* Returns the schema in a WSDL as a separate document, with the namespaces in scope there. Returns
 * any other document unchanged. */
static xmlDocPtr schema_of(xmlDocPtr document) {
    xmlNodePtr types = child_named(xmlDocGetRootElement(document), "types");
    xmlNodePtr schema = types == NULL ? NULL : child_named(types, "schema");
    xmlDocPtr alone;
    xmlNsPtr *in_scope;
    if (schema == NULL)
        return document;
    alone = xmlNewDoc(BAD_CAST "1.0");
    in_scope = xmlGetNsList(document, schema);
    xmlDocSetRootElement(alone, xmlDocCopyNode(schema, alone, 1));
    for (xmlNsPtr *ns = in_scope; ns != NULL && *ns != NULL; ns++)
        xmlNewNs(xmlDocGetRootElement(alone), (*ns)->href, (*ns)->prefix);
    return alone;
}

static xmlSchemaValidCtxtPtr validator_of(xmlDocPtr document) {
    xmlSchemaPtr schema = xmlSchemaParse(xmlSchemaNewDocParserCtxt(document));
    if (schema == NULL)
        fail("a schema");
    return xmlSchemaNewValidCtxt(schema);
}

static char *read_text(const char *path, int *length) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (file == NULL || text == NULL)
        fail(path);
    *length = (int)fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

/* Reads one step from the arguments; returns the number of arguments that it consists of. */
static int read_step(char **words, int count, struct step *step) {
    const char *name = words[0];
    memset(step, 0, sizeof *step);
    if (strcmp(name, "parse") == 0) {
        step->kind = PARSE;
        return 1;
    }
    if (strcmp(name, "serialize") == 0) {
        step->kind = SERIALIZE;
        return 1;
    }
    if (strcmp(name, "xpath") == 0 && count >= 4) {
        step->kind = XPATH;
        step->expression = xmlXPathCompile(BAD_CAST words[1]);
        step->context = xmlXPathNewContext(NULL);
        xmlXPathRegisterNs(step->context, BAD_CAST words[2], BAD_CAST words[3]);
        return 4;
    }
    if (count < 2)
        fail(name);
    if (strcmp(name, "response") == 0) {
        step->kind = RESPONSE;
        step->text = read_text(words[1], &step->length);
        return 2;
    }
    if (strcmp(name, "xslt") == 0) {
        step->kind = XSLT;
        step->style = xsltParseStylesheetDoc(read_document(words[1]));
        if (step->style == NULL)
            fail(words[1]);
        return 2;
    }
    step->kind = strcmp(name, "envelope") == 0 ? ENVELOPE : BODY;
    step->validator = validator_of(schema_of(read_document(words[1])));
    return 2;
}

static void route(struct step *step) {
    xmlXPathObjectPtr found;
    xmlChar *text;
    step->context->doc = now.tree;
    step->context->node = (xmlNodePtr)now.tree;
    found = xmlXPathCompiledEval(step->expression, step->context);
    if (found == NULL || found->nodesetval == NULL || found->nodesetval->nodeNr == 0)
        fail("xpath");
    text = xmlNodeGetContent(found->nodesetval->nodeTab[0]);
    xmlFree(text);
    xmlXPathFreeObject(found);
}

static void transform(struct step *step) {
    xmlDocPtr result = xsltApplyStylesheet(step->style, now.tree, NULL);
    if (result == NULL)
        fail("xslt");
    xmlFreeDoc(now.tree);
    now.tree = result;
}

static void work(struct step *step) {
    xmlNodePtr body;
    switch (step->kind) {
    case PARSE:
        xmlFreeDoc(now.tree);
        now.tree = xmlReadMemory((char *)now.text, now.length, NULL, NULL, OPTIONS);
        if (now.tree == NULL)
            fail("parse");
        break;
    case ENVELOPE:
        if (xmlSchemaValidateDoc(step->validator, now.tree) != 0)
            fail("envelope");
        break;
    case BODY:
        body = child_named(xmlDocGetRootElement(now.tree), "Body");
        if (body == NULL || xmlSchemaValidateOneElement(step->validator, xmlFirstElementChild(body)) != 0)
            fail("body");
        break;
    case XSLT:
        transform(step);
        break;
    case XPATH:
        route(step);
        break;
    case RESPONSE:
        xmlFree(now.text);
        now.length = step->length;
        now.text = xmlStrndup(BAD_CAST step->text, step->length);
        break;
    case SERIALIZE:
        xmlFree(now.text);
        now.length = xmlC14NDocDumpMemory(now.tree, NULL, XML_C14N_1_0, NULL, 1, &now.text);
        if (now.length <= 0)
            fail("serialize");
        break;
    }
}

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}


int main(int count, char **words) {
    struct step steps[STEPS_MAX];
    int length, rounds = 0, number = 0;
    double seconds, began, warm, spent;
    char *message;
    if (count < 4)
        fail("bare SECONDS MESSAGE STEP...");
    seconds = atof(words[1]);
    message = read_text(words[2], &length);
    for (int at = 3; at < count && number < STEPS_MAX; number++)
        at += read_step(words + at, count - at, &steps[number]);
    began = cpu_seconds();
    warm = began;
    do {
        xmlFree(now.text);
        now.text = xmlStrndup(BAD_CAST message, length);
        now.length = length;
        for (int i = 0; i < number; i++)
            work(&steps[i]);
        rounds++;
        spent = cpu_seconds() - began;
        /* The first tenth is a warm-up and is not counted. */
        if (warm == began && spent > seconds / 10) {
            warm = began + spent;
            rounds = 0;
        }
    } while (spent < seconds);
    printf("%.3f\n", (cpu_seconds() - warm) * 1e6 / rounds);
    return 0;
}
