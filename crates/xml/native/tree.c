/* Reads trees, edits them as the policies require, and cuts them to stop validations. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

int shim_node_is_element(const xmlNode *node) { return node->type == XML_ELEMENT_NODE; }

const char *shim_node_name(const xmlNode *node) { return (const char *)node->name; }

/* Returns the name of the node's namespace, or NULL if it has none. */
const char *shim_node_namespace(const xmlNode *node) {
    if (node->ns == NULL || node->ns->href == NULL || node->ns->href[0] == 0)
        return NULL;
    return (const char *)node->ns->href;
}

/* Returns the prefix of the node's name, or NULL if it has none. */
const char *shim_node_prefix(const xmlNode *node) {
    return node->ns == NULL ? NULL : (const char *)node->ns->prefix;
}

static const xmlNode *element_from(const xmlNode *node) {
    while (node != NULL && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

const xmlNode *shim_node_first_element(const xmlNode *node) { return element_from(node->children); }

const xmlNode *shim_node_next_element(const xmlNode *node) { return element_from(node->next); }

/* Returns the value of an attribute, which the caller frees with shim_free, or NULL if there is no
 * such attribute. */
char *shim_node_attribute(const xmlNode *node, const char *name, const char *namespace) {
    if (namespace == NULL)
        return (char *)xmlGetNoNsProp((xmlNode *)node, (const xmlChar *)name);
    return (char *)xmlGetNsProp((xmlNode *)node, (const xmlChar *)name, (const xmlChar *)namespace);
}

int shim_node_set_attribute(xmlNode *node, const char *name, const char *value) {
    return xmlSetProp(node, (const xmlChar *)name, (const xmlChar *)value) != NULL;
}

char *shim_node_content(const xmlNode *node) { return (char *)xmlNodeGetContent((xmlNode *)node); }

long shim_node_line(const xmlNode *node) { return xmlGetLineNo((xmlNode *)node); }

void shim_free(char *text) { xmlFree(text); }

/* Returns a document whose root is a copy of `node`, with all namespaces in scope there. */
xmlDocPtr shim_document_of(const xmlNode *node, const char *url) {
    xmlDocPtr document = xmlNewDoc((const xmlChar *)"1.0");
    xmlNodePtr root = document == NULL ? NULL : xmlDocCopyNode((xmlNode *)node, document, 1);
    xmlNsPtr *in_scope;
    if (root == NULL) {
        xmlFreeDoc(document);
        return NULL;
    }
    xmlDocSetRootElement(document, root);
    if (url != NULL)
        document->URL = xmlStrdup((const xmlChar *)url);
    in_scope = xmlGetNsList(node->doc, (xmlNode *)node);
    /* The nearest namespaces come first, and xmlNewNs rejects a prefix that the element already
     * has. */
    for (xmlNsPtr *ns = in_scope; ns != NULL && *ns != NULL; ns++)
        xmlNewNs(root, (*ns)->href, (*ns)->prefix);
    xmlFree(in_scope);
    return document;
}

#define EMPTY_NAMESPACE " xmlns=\"\""

static int is_text(const xmlNode *node) {
    return node != NULL && (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE);
}

/* Reports whether the edit would change the canonical text of a node other than an element, or join
 * two nodes. */
static int needs_text(const xmlNode *node) {
    if (is_text(node) && is_text(node->next))
        return 1;
    switch (node->type) {
    case XML_TEXT_NODE:
    case XML_CDATA_SECTION_NODE:
    case XML_COMMENT_NODE:
    case XML_PI_NODE:
        return node->content != NULL && strstr((const char *)node->content, EMPTY_NAMESPACE) != NULL;
    default:
        return 1;
    }
}

static xmlNsPtr own_default(const xmlNode *element) {
    for (xmlNsPtr ns = element->nsDef; ns != NULL; ns = ns->next)
        if (ns->prefix == NULL || ns->prefix[0] == 0)
            return ns;
    return NULL;
}

static int is_empty(const xmlNs *ns) { return ns == NULL || ns->href == NULL || ns->href[0] == 0; }

/* Returns the default namespace in scope for the children of `element`. Undeclarations (`xmlns=""`)
 * count only if `with_undeclarations` is set. */
static xmlNsPtr default_at(const xmlNode *element, int with_undeclarations) {
    for (; element != NULL && element->type == XML_ELEMENT_NODE; element = element->parent) {
        xmlNsPtr ns = own_default(element);
        if (ns != NULL && (with_undeclarations || !is_empty(ns)))
            return is_empty(ns) ? NULL : ns;
    }
    return NULL;
}

static int same(const xmlNs *a, const xmlNs *b) {
    return is_empty(a) ? is_empty(b) : !is_empty(b) && xmlStrEqual(a->href, b->href);
}

/* Reports whether a declaration that is necessary now would be redundant after the edit. Such a
 * declaration stays in the text. */
static int becomes_superfluous(const xmlNode *element) {
    const xmlNs *own = own_default(element);
    return !is_empty(own) && !same(default_at(element->parent, 1), own) &&
           same(default_at(element->parent, 0), own);
}

static xmlNodePtr following(xmlNodePtr node, int into) {
    if (into && node->children != NULL)
        return node->children;
    while (node != NULL && node->next == NULL) {
        node = node->parent;
        if (node == NULL || node->type != XML_ELEMENT_NODE)
            return NULL;
    }
    return node == NULL ? NULL : node->next;
}

/* Returns the sum of the squared lengths of all sequences of texts, comments and processing
 * instructions without an element between them. To sort such nodes, libxml2 walks back from each
 * one to the nearest element. */
unsigned long shim_rows(xmlDocPtr document) {
    unsigned long sum = 0;
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1)) {
        unsigned long row = 0;
        if (node->prev != NULL)
            continue;
        for (const xmlNode *sibling = node; sibling != NULL; sibling = sibling->next) {
            row = sibling->type == XML_ELEMENT_NODE ? 0 : row + 1;
            sum += row == 0 ? 0 : 2 * row - 1;
        }
    }
    return sum;
}

/* The links between the nodes of a document that was cut. */
static _Thread_local struct {
    struct {
        xmlNodePtr node, next;
    } *links;
    size_t count;
} cut;

/* Unlinks each node from its successor, so that a walk over the document ends. This is the only way
 * to stop a validation. */
void shim_cut(xmlDocPtr document) {
    size_t count = 0;
    if (cut.links != NULL)
        return;
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1))
        count++;
    cut.links = malloc((count + 1) * sizeof *cut.links);
    if (cut.links == NULL)
        return;
    cut.count = 0;
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1)) {
        cut.links[cut.count].node = node;
        cut.links[cut.count++].next = node->next;
    }
    for (size_t i = 0; i < cut.count; i++)
        cut.links[i].node->next = NULL;
}

void shim_mend(void) {
    if (cut.links == NULL)
        return;
    for (size_t i = 0; i < cut.count; i++)
        cut.links[i].node->next = cut.links[i].next;
    free(cut.links);
    cut.links = NULL;
}

static int can_be_edited(const xmlDoc *document) {
    int roots = 0;
    for (const xmlNode *node = document->children; node != NULL; node = node->next) {
        if (node->type == XML_ELEMENT_NODE)
            roots++;
        else if (node->type != XML_COMMENT_NODE && node->type != XML_PI_NODE)
            return 0;
    }
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1)) {
        if (node->type != XML_ELEMENT_NODE ? needs_text(node) : becomes_superfluous(node))
            return 0;
    }
    return roots == 1;
}

static void drop_own_undeclaration(xmlNodePtr element) {
    for (xmlNsPtr *link = &element->nsDef; *link != NULL; link = &(*link)->next) {
        xmlNsPtr ns = *link;
        if ((ns->prefix == NULL || ns->prefix[0] == 0) && is_empty(ns)) {
            *link = ns->next;
            xmlFreeNs(ns);
            return;
        }
    }
}

/* Changes the tree as if every ` xmlns=""` were removed from its canonical text: elements without a
 * namespace get the default namespace in scope. Returns 0, and leaves the tree unchanged, if only
 * the text can express the result. */
int shim_drop_empty_namespaces(xmlDocPtr document) {
    if (!can_be_edited(document))
        return 0;
    /* Remove the references to empty namespaces before freeing the namespaces. */
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1))
        if (node->type == XML_ELEMENT_NODE && is_empty(node->ns))
            node->ns = NULL;
    for (xmlNodePtr node = document->children; node != NULL; node = following(node, 1)) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        drop_own_undeclaration(node);
        if (node->ns == NULL)
            node->ns = default_at(node, 0);
    }
    return 1;
}

/* Reports whether the document is the result of a stylesheet that produces HTML, according to
 * xsl:output or to the outermost element of the result. */
int shim_is_html(const xmlDoc *document) {
    return document->type == XML_HTML_DOCUMENT_NODE;
}
