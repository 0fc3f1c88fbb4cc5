/* XPath functions that replace those of libxml2 and libxslt, which take quadratic time: translate()
 * searches the whole list for each character of a text, contains() and similar functions start
 * again at each position, and id() and key() compare each node found with all nodes found before.
 * From 2.14 on, libxml2 does not call the lookup function for XPath's own functions, so only key()
 * is replaced. */
#include "shim.h"

#include <stdint.h>
#include <string.h>

#include <libxml/valid.h>
#include <libxml/xpathInternals.h>
#include <libxslt/functions.h>

/* Pops the topmost value as a text that the caller owns. Returns NULL if there is none. */
static xmlXPathObjectPtr pop_text(xmlXPathParserContextPtr ctxt) {
    CAST_TO_STRING;
    return valuePop(ctxt);
}

/* Returns the text of a string object, or an empty text if libxml2 ran out of memory when it
 * created the object. */
static const xmlChar *text_of(const xmlXPathObject *object) {
    return object->stringval == NULL ? (const xmlChar *)"" : object->stringval;
}

/* Pops two texts from the stack. Returns 0 and sets an error if there are not two. */
static int pop_texts(xmlXPathParserContextPtr ctxt, xmlXPathObjectPtr *first, xmlXPathObjectPtr *second) {
    *second = pop_text(ctxt);
    *first = pop_text(ctxt);
    if (*first != NULL && *second != NULL && ctxt->error == XPATH_EXPRESSION_OK)
        return 1;
    xmlXPathFreeObject(*first);
    xmlXPathFreeObject(*second);
    if (ctxt->error == XPATH_EXPRESSION_OK)
        xmlXPathErr(ctxt, XPATH_INVALID_TYPE);
    return 0;
}

/* Returns the length in bytes of a text's first character, or 0 at the end. */
static size_t character(const xmlChar *text) {
    size_t bytes = *text != 0;
    if (*text >= 0x80)
        while (bytes < 4 && (text[bytes] & 0xc0) == 0x80)
            bytes++;
    return bytes;
}

/* The number of pages for all code points that four bytes of UTF-8 can encode, even those that are
 * not characters, and the number of entries in a page. */
#define PAGES 0x2000
#define PAGE 0x100

/* The replacement of each character: a text that begins with the replacement, an empty text to
 * remove the character, or NULL to keep it. Characters outside ASCII are in pages, which are
 * allocated when first needed. */
struct translation {
    const xmlChar *ascii[0x80];
    const xmlChar ***pages;
};

static void *zeroed(size_t bytes) {
    void *made = xmlMalloc(bytes);
    return made == NULL ? NULL : memset(made, 0, bytes);
}

/* Returns the code point of a character outside ASCII. */
static size_t code_of(const xmlChar *text) {
    size_t bytes = character(text);
    size_t code = *text & (bytes > 1 ? 0x7f >> bytes : 0x7f);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* Returns the entry of a text's first character, or NULL if memory runs out. */
static const xmlChar **place_of(struct translation *translation, const xmlChar *text) {
    size_t code;
    if (*text < 0x80)
        return &translation->ascii[*text];
    code = code_of(text);
    if (translation->pages == NULL)
        translation->pages = zeroed(PAGES * sizeof *translation->pages);
    if (translation->pages == NULL)
        return NULL;
    if (translation->pages[code / PAGE] == NULL)
        translation->pages[code / PAGE] = zeroed(PAGE * sizeof **translation->pages);
    if (translation->pages[code / PAGE] == NULL)
        return NULL;
    return &translation->pages[code / PAGE][code % PAGE];
}

/* Returns the replacement of a text's first character, or the text itself if the character is
 * kept. */
static const xmlChar *in_place_of(const struct translation *translation, const xmlChar *text) {
    const xmlChar *replaced = NULL;
    if (*text < 0x80) {
        replaced = translation->ascii[*text];
    } else if (translation->pages != NULL) {
        size_t code = code_of(text);
        const xmlChar **page = translation->pages[code / PAGE];
        replaced = page == NULL ? NULL : page[code % PAGE];
    }
    return replaced == NULL ? text : replaced;
}

/* Fills in the replacements. If a character occurs more than once, its first occurrence counts.
 * Returns 0 if memory runs out. */
static int plan(struct translation *translation, const xmlChar *from, const xmlChar *to) {
    for (; *from != 0 && !shim_is_over(); from += character(from)) {
        const xmlChar **place = place_of(translation, from);
        if (place == NULL)
            return 0;
        if (*place == NULL)
            *place = to;
        to += character(to);
    }
    return 1;
}

/* Returns the length in bytes of the translated text, and writes the text to `out` unless it is
 * NULL. The text is truncated if the budget is spent. */
static size_t apply(const struct translation *translation, const xmlChar *text, xmlChar *out) {
    size_t total = 0;
    for (; *text != 0 && !shim_is_over(); text += character(text)) {
        const xmlChar *replaced = in_place_of(translation, text);
        size_t bytes = character(replaced);
        if (out != NULL)
            memcpy(out + total, replaced, bytes);
        total += bytes;
    }
    return total;
}

static void forget(struct translation *translation) {
    for (size_t i = 0; translation->pages != NULL && i < PAGES; i++)
        xmlFree(translation->pages[i]);
    xmlFree(translation->pages);
}

/* Returns the translated text, which the caller frees with xmlFree, or NULL if memory runs out. */
static xmlChar *translated(const xmlChar *text, const xmlChar *from, const xmlChar *to) {
    struct translation translation = {.pages = NULL};
    xmlChar *made = NULL;
    if (plan(&translation, from, to)) {
        made = xmlMalloc(apply(&translation, text, NULL) + 1);
        if (made != NULL)
            made[apply(&translation, text, made)] = 0;
    }
    forget(&translation);
    return made;
}

/* Pushes a text and gives up its ownership. */
static void push_text(xmlXPathParserContextPtr ctxt, xmlChar *text) {
    if (text == NULL)
        xmlXPathErr(ctxt, XPATH_MEMORY_ERROR);
    else
        valuePush(ctxt, xmlXPathWrapString(text));
}

/* string translate(string, string, string) */
static void translate(xmlXPathParserContextPtr ctxt, int nargs) {
    xmlXPathObjectPtr text, from, to;
    CHECK_ARITY(3);
    to = pop_text(ctxt);
    if (to == NULL)
        XP_ERROR(XPATH_INVALID_TYPE);
    if (pop_texts(ctxt, &text, &from)) {
        push_text(ctxt, translated(text_of(text), text_of(from), text_of(to)));
        xmlXPathFreeObject(text);
        xmlXPathFreeObject(from);
    }
    xmlXPathFreeObject(to);
}

/* Returns the position of the second text in the first, or NULL if it does not occur. glibc's
 * strstr takes time proportional to the sum of their lengths. */
static const xmlChar *find(const xmlXPathObject *text, const xmlXPathObject *sought) {
    return (const xmlChar *)strstr((const char *)text_of(text), (const char *)text_of(sought));
}

/* boolean contains(string, string) */
static void contains(xmlXPathParserContextPtr ctxt, int nargs) {
    xmlXPathObjectPtr text, sought;
    CHECK_ARITY(2);
    if (!pop_texts(ctxt, &text, &sought))
        return;
    valuePush(ctxt, xmlXPathNewBoolean(find(text, sought) != NULL));
    xmlXPathFreeObject(text);
    xmlXPathFreeObject(sought);
}

/* Pushes the part of the first text before or after the second one, or an empty text if the first
 * does not contain the second. */
static void push_part(xmlXPathParserContextPtr ctxt, int nargs, int is_after) {
    xmlXPathObjectPtr text, sought;
    const xmlChar *found;
    CHECK_ARITY(2);
    if (!pop_texts(ctxt, &text, &sought))
        return;
    found = find(text, sought);
    if (is_after)
        push_text(ctxt, xmlStrdup(found == NULL ? (const xmlChar *)"" : found + strlen((const char *)text_of(sought))));
    else
        push_text(ctxt, xmlStrndup(text_of(text), found == NULL ? 0 : (int)(found - text_of(text))));
    xmlXPathFreeObject(text);
    xmlXPathFreeObject(sought);
}

/* string substring-before(string, string) */
static void substring_before(xmlXPathParserContextPtr ctxt, int nargs) { push_part(ctxt, nargs, 0); }

/* string substring-after(string, string) */
static void substring_after(xmlXPathParserContextPtr ctxt, int nargs) { push_part(ctxt, nargs, 1); }

/* The binary logarithm of the number of slots in the smallest table of nodes. */
#define ROOM_LOG_MIN 6

/* A set of nodes in the order of their discovery. */
struct found {
    xmlNodeSetPtr nodes;
    /* A hash table of the nodes by address, at least half of whose slots are free. */
    xmlNodePtr *table;
    int room_log;
};

static size_t room_of(int room_log) { return (size_t)1 << room_log; }

/* Returns the slot of a node in a table, or the free slot for it. */
static xmlNodePtr *known(xmlNodePtr *table, int room_log, xmlNodePtr node) {
    /* Multiplying by 2^64 divided by the golden ratio distributes addresses evenly. */
    size_t at = (size_t)(((uint64_t)(uintptr_t)node * 0x9e3779b97f4a7c15u) >> (64 - room_log));
    while (table[at] != NULL && table[at] != node)
        at = (at + 1) & (room_of(room_log) - 1);
    return &table[at];
}

/* Creates the table, or doubles its size. Returns 0 if memory runs out. */
static int enlarge(struct found *found) {
    int larger_log = found->table == NULL ? ROOM_LOG_MIN : found->room_log + 1;
    xmlNodePtr *larger = zeroed(room_of(larger_log) * sizeof *larger);
    if (larger == NULL)
        return 0;
    for (int i = 0; i < found->nodes->nodeNr; i++)
        *known(larger, larger_log, found->nodes->nodeTab[i]) = found->nodes->nodeTab[i];
    xmlFree(found->table);
    found->table = larger;
    found->room_log = larger_log;
    return 1;
}

/* Adds a node unless the set already contains it. Returns 0 if memory runs out. */
static int keep(struct found *found, xmlNodePtr node) {
    xmlNodePtr *place;
    if (found->table == NULL || 2 * (size_t)found->nodes->nodeNr >= room_of(found->room_log))
        if (!enlarge(found))
            return 0;
    place = known(found->table, found->room_log, node);
    if (*place != NULL)
        return 1;
    *place = node;
    return xmlXPathNodeSetAddUnique(found->nodes, node) == 0;
}

static void push_found(xmlXPathParserContextPtr ctxt, struct found *found) {
    xmlFree(found->table);
    valuePush(ctxt, xmlXPathWrapNodeSet(found->nodes));
}

static int is_blank(xmlChar byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* Adds the elements of a document whose IDs a text lists. Returns 0 if memory runs out or the
 * budget is spent. */
static int keep_listed(struct found *found, xmlDocPtr document, const xmlChar *list) {
    while (list != NULL && *list != 0) {
        const xmlChar *end = list;
        xmlChar *id;
        xmlAttrPtr attribute;
        if (shim_is_over())
            return 0;
        while (*end != 0 && !is_blank(*end))
            end++;
        id = end == list ? NULL : xmlStrndup(list, (int)(end - list));
        attribute = id == NULL ? NULL : xmlGetID(document, id);
        xmlFree(id);
        if (attribute != NULL && attribute->type == XML_ATTRIBUTE_NODE && attribute->parent != NULL &&
            !keep(found, attribute->parent))
            return 0;
        list = *end == 0 ? end : end + 1;
    }
    return 1;
}

static int has_nodes(const xmlXPathObject *object) {
    return object != NULL && (object->type == XPATH_NODESET || object->type == XPATH_XSLT_TREE);
}

static int nodes_in(const xmlXPathObject *object) {
    return object->nodesetval == NULL ? 0 : object->nodesetval->nodeNr;
}

/* node-set id(object) */
static void find_by_id(xmlXPathParserContextPtr ctxt, int nargs) {
    struct found found = {.nodes = NULL};
    xmlXPathObjectPtr object;
    CHECK_ARITY(1);
    if (!has_nodes(ctxt->value)) {
        CAST_TO_STRING;
    }
    object = valuePop(ctxt);
    if (object == NULL)
        XP_ERROR(XPATH_INVALID_OPERAND);
    found.nodes = xmlXPathNodeSetCreate(NULL);
    if (found.nodes == NULL) {
        xmlXPathFreeObject(object);
        XP_ERROR(XPATH_MEMORY_ERROR);
    }
    if (has_nodes(object)) {
        int goes_on = 1;
        for (int i = 0; goes_on && i < nodes_in(object); i++) {
            xmlChar *list = xmlXPathCastNodeToString(object->nodesetval->nodeTab[i]);
            goes_on = keep_listed(&found, ctxt->context->doc, list);
            xmlFree(list);
        }
    } else {
        keep_listed(&found, ctxt->context->doc, object->stringval);
    }
    xmlXPathFreeObject(object);
    push_found(ctxt, &found);
}

/* Adds the nodes of one value of a key. Returns 0 on failure or if the budget is spent. */
static int keep_keyed(struct found *found, xmlXPathParserContextPtr ctxt, xmlXPathObjectPtr name, xmlChar *value) {
    xmlXPathObjectPtr nodes;
    int goes_on;
    if (value == NULL || shim_is_over()) {
        xmlFree(value);
        return 0;
    }
    valuePush(ctxt, xmlXPathObjectCopy(name));
    valuePush(ctxt, xmlXPathWrapString(value));
    if (ctxt->error != XPATH_EXPRESSION_OK)
        return 0;
    xsltKeyFunction(ctxt, 2);
    if (ctxt->error != XPATH_EXPRESSION_OK)
        return 0;
    nodes = valuePop(ctxt);
    goes_on = has_nodes(nodes);
    for (int i = 0; goes_on && i < nodes_in(nodes); i++)
        goes_on = keep(found, nodes->nodesetval->nodeTab[i]);
    xmlXPathFreeObject(nodes);
    return goes_on;
}

/* node-set key(string, object): calls libxslt's function for each value, and collects the nodes in
 * linear time. */
static void find_by_key(xmlXPathParserContextPtr ctxt, int nargs) {
    struct found found = {.nodes = NULL};
    xmlXPathObjectPtr name, values;
    int goes_on = 1;
    if (nargs != 2 || !has_nodes(ctxt->value)) {
        xsltKeyFunction(ctxt, nargs);
        return;
    }
    values = valuePop(ctxt);
    name = pop_text(ctxt);
    found.nodes = name == NULL ? NULL : xmlXPathNodeSetCreate(NULL);
    if (found.nodes == NULL) {
        xmlXPathFreeObject(values);
        xmlXPathFreeObject(name);
        XP_ERROR(XPATH_INVALID_TYPE);
    }
    for (int i = 0; goes_on && i < nodes_in(values); i++)
        goes_on = keep_keyed(&found, ctxt, name, xmlXPathCastNodeToString(values->nodesetval->nodeTab[i]));
    xmlXPathFreeObject(values);
    xmlXPathFreeObject(name);
    push_found(ctxt, &found);
}

static const struct {
    const char *name;
    xmlXPathFunction function;
} replaced[] = {
    {"contains", contains},
    {"id", find_by_id},
    {"substring-after", substring_after},
    {"substring-before", substring_before},
    {"translate", translate},
};

static xmlXPathFunction look_up(void *context, const xmlChar *name, const xmlChar *namespace) {
    (void)context;
    for (size_t i = 0; namespace == NULL && i < sizeof replaced / sizeof *replaced; i++)
        if (strcmp(replaced[i].name, (const char *)name) == 0)
            return replaced[i].function;
    return NULL;
}

static xmlXPathFunction look_up_in_stylesheet(void *context, const xmlChar *name, const xmlChar *namespace) {
    xmlXPathFunction found = look_up(context, name, namespace);
    if (found == NULL && namespace == NULL && strcmp((const char *)name, "key") == 0)
        return find_by_key;
    return found == NULL ? xsltXPathFunctionLookup(context, name, namespace) : found;
}

/* Registers the replacement functions in a context. An expression caches each function that it has
 * looked up, so all contexts that evaluate the expression must have the same functions. */
void shim_use_functions(xmlXPathContextPtr context, int of_stylesheet) {
    xmlXPathRegisterFuncLookup(context, of_stylesheet ? look_up_in_stylesheet : look_up, context);
}
