/* Writes whole trees as Canonical XML 1.0 with comments
 * (https://www.w3.org/TR/2001/REC-xml-c14n-20010315) in time roughly proportional to the output.
 * libxml2's own function compares all namespaces in scope with each other at every element, so it
 * takes 15 s for a plain message of 100 kB. */
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/uri.h>

#define PIECE_BYTES ((size_t)4096)

/* The context of a text, which determines the characters to escape. */
enum place { IN_TEXT, IN_ATTRIBUTE, IN_OTHER };

/* A namespace declaration that is in force at the current position, and the element that declares
 * it. */
struct declaration {
    const xmlNs *ns;
    const xmlNode *element;
};

struct writer {
    shim_write write;
    void *data;
    const xmlDoc *document;
    /* The reason why the writer has stopped; NULL while it writes. */
    const char *failure;
    char reason[160];
    int is_behind_root;
    /* The declarations in force, the innermost last. */
    struct declaration *declarations;
    size_t declared, declarations_room;
    /* The namespaces or attributes of the current element, for sorting. */
    const void **sorted;
    size_t sorted_room;
    size_t length;
    char piece[PIECE_BYTES];
};

static void flush(struct writer *out) {
    if (out->failure == NULL && out->length > 0 && out->write(out->data, out->piece, (int)out->length) < 0)
        out->failure = "The canonical text cannot be written";
    out->length = 0;
}

static void put(struct writer *out, const char *text, size_t length) {
    while (length > 0) {
        size_t room = PIECE_BYTES - out->length;
        size_t part = length < room ? length : room;
        memcpy(out->piece + out->length, text, part);
        out->length += part;
        text += part;
        length -= part;
        if (out->length == PIECE_BYTES)
            flush(out);
    }
}

static void put_text(struct writer *out, const char *text) { put(out, text, strlen(text)); }

static const char *replacement(char character) {
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\t':
        return "&#x9;";
    case '\n':
        return "&#xA;";
    default:
        return "&#xD;";
    }
}

static void put_escaped(struct writer *out, const xmlChar *text, enum place place) {
    static const char *const special[] = {
        [IN_TEXT] = "&<>\r",
        [IN_ATTRIBUTE] = "&<\"\t\n\r",
        [IN_OTHER] = "\r",
    };
    const char *rest = text == NULL ? "" : (const char *)text;
    for (;;) {
        size_t plain = strcspn(rest, special[place]);
        put(out, rest, plain);
        if (rest[plain] == 0)
            return;
        put_text(out, replacement(rest[plain]));
        rest += plain + 1;
    }
}

static int is_empty(const xmlChar *text) { return text == NULL || text[0] == 0; }

/* Compares two texts. NULL and the empty text are equal. */
static int compare_texts(const xmlChar *left, const xmlChar *right) {
    return strcmp(left == NULL ? "" : (const char *)left, right == NULL ? "" : (const char *)right);
}

static int compare_namespaces(const void *left, const void *right) {
    const xmlNs *one = *(const void *const *)left;
    const xmlNs *other = *(const void *const *)right;
    return compare_texts(one->prefix, other->prefix);
}

/* Orders attributes by namespace name and then by local name, with attributes without a namespace
 * first. */
static int compare_attributes(const void *left, const void *right) {
    const xmlAttr *one = *(const void *const *)left;
    const xmlAttr *other = *(const void *const *)right;
    int order = 0;
    if (one->ns != other->ns)
        order = compare_texts(one->ns == NULL ? NULL : one->ns->href, other->ns == NULL ? NULL : other->ns->href);
    return order != 0 ? order : compare_texts(one->name, other->name);
}

/* Returns the array, enlarged if necessary, with room for one more item, or NULL if memory runs
 * out. */
static void *with_room(struct writer *out, void *array, size_t count, size_t *room, size_t size) {
    void *larger;
    if (count < *room)
        return array;
    larger = realloc(array, (2 * *room + 16) * size);
    if (larger == NULL)
        out->failure = "There is not enough memory for the canonical text";
    else
        *room = 2 * *room + 16;
    return larger;
}

static void add_sorted(struct writer *out, size_t *count, const void *item) {
    const void **larger = with_room(out, out->sorted, *count, &out->sorted_room, sizeof *out->sorted);
    if (larger == NULL)
        return;
    out->sorted = larger;
    out->sorted[(*count)++] = item;
}

static void declare(struct writer *out, const xmlNs *ns, const xmlNode *element) {
    struct declaration *larger = with_room(out, out->declarations, out->declared, &out->declarations_room,
                                           sizeof *out->declarations);
    if (larger == NULL)
        return;
    out->declarations = larger;
    out->declarations[out->declared].ns = ns;
    out->declarations[out->declared++].element = element;
}

static void put_name(struct writer *out, const xmlNs *ns, const xmlChar *name) {
    if (ns != NULL && !is_empty(ns->prefix)) {
        put_text(out, (const char *)ns->prefix);
        put(out, ":", 1);
    }
    put_text(out, (const char *)name);
}

/* Returns the declaration of a prefix that is currently in force, or NULL. */
static const struct declaration *in_force(const struct writer *out, const xmlChar *prefix) {
    for (size_t i = out->declared; i > 0; i--)
        if (compare_texts(out->declarations[i - 1].ns->prefix, prefix) == 0)
            return &out->declarations[i - 1];
    return NULL;
}

/* Reports whether an element's declaration changes the declarations in force. */
static int is_news(const struct writer *out, const xmlNode *element, const xmlNs *ns) {
    const struct declaration *before;
    if (xmlStrEqual(ns->prefix, (const xmlChar *)"xml") && xmlStrEqual(ns->href, XML_XML_NAMESPACE))
        return 0;
    before = in_force(out, ns->prefix);
    if (before == NULL)
        return !is_empty(ns->prefix) || !is_empty(ns->href);
    return before->element != element && compare_texts(before->ns->href, ns->href) != 0;
}

/* Reports whether the name of a namespace is relative. Such a name has no canonical form, because
 * its meaning depends on the location of the document. */
static int is_relative(const xmlNs *ns) {
    xmlURIPtr uri = is_empty(ns->href) ? NULL : xmlParseURI((const char *)ns->href);
    int has_scheme = uri != NULL && uri->scheme != NULL;
    xmlFreeURI(uri);
    return !has_scheme && !is_empty(ns->href);
}

static void put_namespaces(struct writer *out, const xmlNode *element) {
    size_t count = 0;
    for (const xmlNs *ns = element->nsDef; ns != NULL; ns = ns->next) {
        if (is_relative(ns)) {
            snprintf(out->reason, sizeof out->reason, "The name of a namespace is relative: %.100s",
                     (const char *)ns->href);
            out->failure = out->reason;
            return;
        }
        if (is_news(out, element, ns)) {
            declare(out, ns, element);
            add_sorted(out, &count, ns);
        }
    }
    if (count > 1)
        qsort(out->sorted, count, sizeof *out->sorted, compare_namespaces);
    for (size_t i = 0; i < count; i++) {
        const xmlNs *ns = out->sorted[i];
        put_text(out, is_empty(ns->prefix) ? " xmlns" : " xmlns:");
        put_escaped(out, ns->prefix, IN_OTHER);
        put(out, "=\"", 2);
        put_escaped(out, ns->href, IN_ATTRIBUTE);
        put(out, "\"", 1);
    }
}

static int is_text(const xmlNode *node) {
    return node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE;
}

static void fail_at(struct writer *out, const xmlNode *node) {
    snprintf(out->reason, sizeof out->reason, "A node of type %d has no canonical form", (int)node->type);
    out->failure = out->reason;
}

static void put_attributes(struct writer *out, const xmlNode *element) {
    size_t count = 0;
    for (const xmlAttr *attribute = element->properties; attribute != NULL; attribute = attribute->next)
        add_sorted(out, &count, attribute);
    if (count > 1)
        qsort(out->sorted, count, sizeof *out->sorted, compare_attributes);
    for (size_t i = 0; i < count; i++) {
        const xmlAttr *attribute = out->sorted[i];
        put(out, " ", 1);
        put_name(out, attribute->ns, attribute->name);
        put(out, "=\"", 2);
        for (const xmlNode *node = attribute->children; node != NULL; node = node->next) {
            if (is_text(node))
                put_escaped(out, node->content, IN_ATTRIBUTE);
            else
                fail_at(out, node);
        }
        put(out, "\"", 1);
    }
}

static void open_element(struct writer *out, const xmlNode *element) {
    put(out, "<", 1);
    put_name(out, element->ns, element->name);
    put_namespaces(out, element);
    put_attributes(out, element);
    put(out, ">", 1);
}

static void close_element(struct writer *out, const xmlNode *element) {
    put(out, "</", 2);
    put_name(out, element->ns, element->name);
    put(out, ">", 1);
    while (out->declared > 0 && out->declarations[out->declared - 1].element == element)
        out->declared--;
    if (element->parent == (const xmlNode *)out->document)
        out->is_behind_root = 1;
}

/* Writes a comment or a processing instruction, on a separate line if it is outside the root
 * element. */
static void put_aside(struct writer *out, const xmlNode *node) {
    int is_outside = node->parent == (const xmlNode *)out->document;
    if (is_outside && out->is_behind_root)
        put(out, "\n", 1);
    if (node->type == XML_COMMENT_NODE) {
        put(out, "<!--", 4);
        put_escaped(out, node->content, IN_OTHER);
        put(out, "-->", 3);
    } else {
        put(out, "<?", 2);
        put_text(out, (const char *)node->name);
        if (!is_empty(node->content)) {
            put(out, " ", 1);
            put_escaped(out, node->content, IN_OTHER);
        }
        put(out, "?>", 2);
    }
    if (is_outside && !out->is_behind_root)
        put(out, "\n", 1);
}

static void put_leaf(struct writer *out, const xmlNode *node) {
    switch (node->type) {
    case XML_TEXT_NODE:
    case XML_CDATA_SECTION_NODE:
        put_escaped(out, node->content, IN_TEXT);
        break;
    case XML_COMMENT_NODE:
    case XML_PI_NODE:
        put_aside(out, node);
        break;
    case XML_DTD_NODE:
        break;
    default:
        fail_at(out, node);
    }
}

static void walk(struct writer *out) {
    const xmlNode *node = out->document->children;
    while (node != NULL && out->failure == NULL) {
        if (node->type == XML_ELEMENT_NODE) {
            open_element(out, node);
            if (node->children != NULL) {
                node = node->children;
                continue;
            }
            close_element(out, node);
        } else {
            put_leaf(out, node);
        }
        while (node->next == NULL) {
            node = node->parent;
            if (node == NULL || node->type != XML_ELEMENT_NODE)
                return;
            close_element(out, node);
        }
        node = node->next;
    }
}

/* Writes the canonical form of a document. Returns 0, and reports the reason, if the tree has no
 * canonical form or could not be written completely. */
int shim_canonical(xmlDocPtr document, shim_write write, void *data, shim_report *report) {
    struct writer out;
    memset(&out, 0, offsetof(struct writer, piece));
    out.write = write;
    out.data = data;
    out.document = document;
    walk(&out);
    flush(&out);
    free(out.declarations);
    free(out.sorted);
    if (out.failure != NULL)
        shim_tell(report, XML_FROM_C14N, 0, XML_ERR_ERROR, out.failure);
    return out.failure == NULL;
}
