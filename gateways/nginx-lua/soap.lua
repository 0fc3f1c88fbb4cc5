-- SOAP and XML with libxml2 and libxslt, called from LuaJIT by FFI. Definitions are compiled when
-- the master starts and shared with its workers; a document is parsed once for each chain. nginx
-- refuses to start with settings that this script does not support.
local ffi = require "ffi"

ffi.cdef [[
typedef struct soap_ns { struct soap_ns *next; int type; const char *href; const char *prefix; } soap_ns;
typedef struct soap_node {
    void *private; int type; const char *name;
    struct soap_node *children, *last, *parent, *next, *prev; void *doc; soap_ns *ns;
} soap_node;
typedef struct {
    int domain; int code; char *message; int level; char *file; int line;
    char *str1, *str2, *str3; int int1, int2; void *ctxt; soap_node *node;
} soap_error;
typedef struct { int count; int max; soap_node **nodes; } soap_node_set;
typedef struct { int type; soap_node_set *set; } soap_object;
typedef struct { void *doc; soap_node *node; } soap_context;

void xmlInitParser(void);
void *xmlReadMemory(const char *text, int length, const char *url, const char *encoding, int options);
void xmlFreeDoc(void *doc);
soap_node *xmlDocGetRootElement(void *doc);
soap_node *xmlFirstElementChild(soap_node *parent);
soap_node *xmlNextElementSibling(soap_node *node);
soap_node *xmlDocCopyNode(soap_node *node, void *doc, int extended);
soap_node *xmlDocSetRootElement(void *doc, soap_node *root);
soap_ns **xmlGetNsList(void *doc, soap_node *node);
soap_ns *xmlNewNs(soap_node *node, const char *href, const char *prefix);
void *xmlNewDoc(const char *version);
char *xmlGetNoNsProp(soap_node *node, const char *name);
char *xmlNodeGetContent(soap_node *node);
soap_error *xmlGetLastError(void);
void xmlResetLastError(void);
void xmlSetGenericErrorFunc(void *context, void *handler);
void *xmlSchemaNewDocParserCtxt(void *doc);
void *xmlSchemaParse(void *parser);
void xmlSchemaFreeParserCtxt(void *parser);
void *xmlSchemaNewValidCtxt(void *schema);
int xmlSchemaValidateDoc(void *validator, void *doc);
int xmlSchemaValidateOneElement(void *validator, soap_node *node);
soap_context *xmlXPathNewContext(void *doc);
int xmlXPathRegisterNs(soap_context *context, const char *prefix, const char *uri);
void *xmlXPathCompile(const char *expression);
soap_object *xmlXPathCompiledEval(void *expression, soap_context *context);
void xmlXPathFreeObject(soap_object *object);
int xmlC14NDocDumpMemory(void *doc, void *nodes, int mode, void *prefixes, int comments, char **out);
void *xsltParseStylesheetDoc(void *doc);
void *xsltApplyStylesheet(void *style, void *doc, const char **parameters);
void *xsltNewTransformContext(void *style, void *doc);
int xsltQuoteOneUserParam(void *context, const char *name, const char *value);
void *xsltApplyStylesheetUser(void *style, void *doc, const char **parameters, const char *output, void *profile, void *context);
void xsltFreeTransformContext(void *context);
int xsltSaveResultToString(char **text, int *length, void *doc, void *style);
void free(void *memory);
size_t strlen(const char *text);
]]

local xml, xslt, C = ffi.load("libxml2.so.2"), ffi.load("libxslt.so.1"), ffi.C

-- XML_PARSE_NOENT, NOERROR, NOWARNING, NONET, NOCDATA, COMPACT. No external entity is read, because
-- of NONET and because `parse` refuses documents with a document type.
local OPTIONS = 2 + 32 + 64 + 2048 + 16384 + 65536
local NO_DECLARATION = 1845
local SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
local DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
local TEXT_XML = "text/xml; charset=utf-8"
local XSLT_BEFORE = "XSLT transformation failed (before XSD validation)"
local XSLT_AFTER = "XSLT transformation failed (after XSD validation)"
local VALIDATION = "XSD validation failed"

local soap = {}

xml.xmlInitParser()
-- Messages are taken from the last error and not printed: the handler of messages is strlen, which
-- only reads the empty text in `quiet`.
local quiet = ffi.new("char[1]")
xml.xmlSetGenericErrorFunc(quiet, ffi.cast("void *", C.strlen))

local function owned(text)
    if text == nil then return nil end
    local copy = ffi.string(text)
    C.free(text)
    return copy
end

local function last_error()
    local problem = xml.xmlGetLastError()
    if problem == nil or problem.message == nil then return "unknown", 0 end
    local message = ffi.string(problem.message):gsub("\n$", "")
    local node = ""
    if problem.node ~= nil then
        node = "Error Node: " .. ffi.string(problem.node.name) .. ", "
    end
    local words = ("%sError code: %d, Line: %d, Message: %s"):format(node, problem.code, problem.line, message)
    return words, problem.code
end

local function parse(text)
    if text:find("<!DOCTYPE", 1, true) then
        return nil, "a document type is not allowed"
    end
    xml.xmlResetLastError()
    local doc = xml.xmlReadMemory(text, #text, nil, nil, OPTIONS)
    if doc == nil then
        if #text == 0 then return nil, "Error code: 4, Line: 1, Message: Document is empty" end
        return nil, (last_error())
    end
    return doc
end

local function named(node, name)
    return node ~= nil and ffi.string(node.name) == name
end

local function children(parent)
    local node
    return function()
        if node == nil then
            node = xml.xmlFirstElementChild(parent)
        else
            node = xml.xmlNextElementSibling(node)
        end
        return node ~= nil and node or nil
    end
end

local function child(parent, name)
    for node in children(parent) do
        if named(node, name) then return node end
    end
end

-- Functions that compile definitions.

local function validator(doc)
    local parser = xml.xmlSchemaNewDocParserCtxt(doc)
    local schema = xml.xmlSchemaParse(parser)
    xml.xmlSchemaFreeParserCtxt(parser)
    return schema ~= nil and xml.xmlSchemaNewValidCtxt(schema) or nil
end

-- Returns the schema in a WSDL as a separate document, with the namespaces in scope there.
local function alone(doc, schema)
    local copy = xml.xmlNewDoc("1.0")
    xml.xmlDocSetRootElement(copy, xml.xmlDocCopyNode(schema, copy, 1))
    local root, in_scope, at = xml.xmlDocGetRootElement(copy), xml.xmlGetNsList(doc, schema), 0
    while in_scope ~= nil and in_scope[at] ~= nil do
        xml.xmlNewNs(root, in_scope[at].href, in_scope[at].prefix)
        at = at + 1
    end
    return copy
end

-- Returns the SOAPAction of each operation in the SOAP 1.1 bindings.
local function actions_of(root)
    local actions = {}
    for binding in children(root) do
        for operation in children(binding) do
            local soap_operation = named(binding, "binding") and child(operation, "operation")
            if soap_operation and ffi.string(soap_operation.ns.href):find("/wsdl/soap/", 1, true) then
                actions[owned(xml.xmlGetNoNsProp(operation, "name"))] = {
                    value = owned(xml.xmlGetNoNsProp(soap_operation, "soapAction")),
                    is_required = owned(xml.xmlGetNoNsProp(soap_operation, "soapActionRequired")) == "true",
                }
            end
        end
    end
    return actions
end

local function api(text)
    local doc = assert(parse(text))
    local root, schemas = xml.xmlDocGetRootElement(doc), {}
    if named(root, "schema") then
        schemas[1] = validator(doc)
        return { schemas = schemas }
    end
    local types = named(root, "definitions") and child(root, "types")
    if types then
        for schema in children(types) do
            schemas[#schemas + 1] = validator(alone(doc, schema))
        end
    end
    return { schemas = schemas, actions = actions_of(root) }
end

local function stylesheet(text)
    local style = xslt.xsltParseStylesheetDoc(assert(parse(text)))
    assert(style ~= nil, "a stylesheet does not compile")
    return style
end

local function target(settings, namespaces)
    local context = xml.xmlXPathNewContext(nil)
    for prefix, uri in pairs(namespaces) do
        xml.xmlXPathRegisterNs(context, prefix, uri)
    end
    local expression = xml.xmlXPathCompile(settings.xpath)
    assert(expression ~= nil, "an XPath expression does not compile")
    return {
        context = context, expression = expression, equals = settings.condition,
        path = settings.path, upstream = settings.upstream,
    }
end

-- Compiles the settings of one direction of a route. They contain the definitions as strings.
function soap.compile(settings)
    local chain = { is_verbose = settings.verbose, soap_action = settings.soap_action or "no", targets = {} }
    local before, after = settings.xslt_transform_before, settings.xslt_transform_after
    chain.before = before and stylesheet(before)
    chain.after = after and stylesheet(after)
    local envelope = assert(parse(settings.xsd_soap_schema or require "envelope"))
    chain.envelope = assert(validator(envelope), "the envelope's schema does not compile")
    chain.api = settings.xsd_api_schema and api(settings.xsd_api_schema)
    for _, one in ipairs(settings.targets) do
        chain.targets[#chain.targets + 1] = target(one, settings.namespaces)
    end
    return chain
end

-- Functions that process messages. A step that fails returns the side at fault, the step and the
-- reason; other steps return nothing.

local function transform(state, style, step)
    local result = xslt.xsltApplyStylesheet(style, state.doc, nil)
    if result == nil then return "Client", step, "Unable to apply the style sheet" end
    xml.xmlFreeDoc(state.doc)
    state.doc, state.is_changed = result, true
end

local function operation_of(doc)
    local body = child(xml.xmlDocGetRootElement(doc), "Body")
    return body and xml.xmlFirstElementChild(body)
end

local function check_body(state, chain)
    local operation = operation_of(state.doc)
    if operation == nil then
        return "Client", VALIDATION, "Invalid XML input. Unable to find the Operation tag in the 'soap:Body'"
    end
    local why = "Unable to find a suitable Schema to validate the SOAP/XML"
    for _, schema in ipairs(chain.api.schemas) do
        xml.xmlResetLastError()
        if xml.xmlSchemaValidateOneElement(schema, operation) == 0 then return end
        local words, code = last_error()
        why = words
        if code ~= NO_DECLARATION then break end
    end
    return "Client", VALIDATION, why
end

local function check_action(state, chain)
    local given = ngx.var.http_soapaction
    if chain.soap_action == "no" or (chain.soap_action == "yes_null_allowed" and not given) then return end
    local name = ffi.string(operation_of(state.doc).name)
    local action = chain.api.actions[name]
    local begin = "Validation of 'SOAPAction' header: "
    if not action then
        return "Client", VALIDATION, begin .. "no action is known of '" .. name .. "'"
    elseif not given and action.is_required then
        return "Client", VALIDATION, begin
            .. "The 'SOAPAction' header is not set but according to the WSDL this value is 'Required'"
    elseif given and given:gsub('^"(.*)"$', "%1") ~= action.value then
        return "Client", VALIDATION, ("%sThe Operation Name found in 'soap:Body' is '%s'. According to the WSDL the "
            .. "'SOAPAction' should be '%s' and not '%s'"):format(begin, name, action.value, given)
    end
end

local function route(state, chain)
    for _, one in ipairs(chain.targets) do
        one.context.doc, one.context.node = state.doc, state.doc
        local found = xml.xmlXPathCompiledEval(one.expression, one.context)
        if found == nil then return "Server", "XPath routing failed", "it cannot be evaluated" end
        local is_it = found.set ~= nil and found.set.count > 0
            and owned(xml.xmlNodeGetContent(found.set.nodes[0])) == one.equals
        xml.xmlXPathFreeObject(found)
        if is_it then
            state.target = one
            return
        end
    end
end

local function steps(state, chain, is_request)
    local whose, step, why
    if chain.before then
        whose, step, why = transform(state, chain.before, XSLT_BEFORE)
        if why then return whose, step, why end
    end
    xml.xmlResetLastError()
    if xml.xmlSchemaValidateDoc(chain.envelope, state.doc) ~= 0 then
        return "Client", VALIDATION, (last_error())
    end
    if chain.api then
        whose, step, why = check_body(state, chain)
        if why then return whose, step, why end
    end
    if is_request then
        whose, step, why = check_action(state, chain)
        if why then return whose, step, why end
    end
    if chain.after then
        whose, step, why = transform(state, chain.after, XSLT_AFTER)
        if why then return whose, step, why end
    end
    if is_request then return route(state, chain) end
end

local out = ffi.new("char *[1]")

local function serialized(doc)
    local length = xml.xmlC14NDocDumpMemory(doc, nil, 0, nil, 1, out)
    local text = ffi.string(out[0], length)
    C.free(out[0])
    return DECLARATION .. (text:gsub(' xmlns=""', ""))
end

-- Returns the body after the chain, the target if an expression matched, and, if a step failed, the
-- side at fault, the step and the reason. The body is then nil.
local function run(chain, body, is_request)
    local doc, why = parse(body)
    if not doc then
        return nil, nil, "Client", chain.before and XSLT_BEFORE or VALIDATION, "Invalid XML input. " .. why
    end
    local state = { doc = doc }
    local whose, step, reason = steps(state, chain, is_request)
    local result = not reason and (state.is_changed and serialized(state.doc) or body) or nil
    xml.xmlFreeDoc(state.doc)
    return result, state.target, whose, step, reason
end

local FAULT = [[
<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:soap="%s">
  <soap:Body>
    <soap:Fault>
      <faultcode>soap:%s</faultcode>
      <faultstring>%s - %s</faultstring>
      <detail>
        <errorMessage>%s</errorMessage>%s
      </detail>
    </soap:Fault>
  </soap:Body>
</soap:Envelope>]]

local function send(status, body)
    ngx.status = status
    ngx.header.content_length = #body
    ngx.print(body)
    return ngx.exit(ngx.HTTP_OK)
end

local SHOWN = { ['"'] = "'", ["<"] = "Less Than", [">"] = "Greater Than", ["&"] = "&amp;" }

local function fault(chain, direction, whose, step, why, upstream_status)
    local details = chain.is_verbose and why:gsub('["<>&]', SHOWN) or "SOAP/XML process failure"
    local upstream = chain.is_verbose and upstream_status
        and ("\n        <backendHttpCode>%d</backendHttpCode>"):format(upstream_status) or ""
    ngx.header.content_type = TEXT_XML
    return send(500, FAULT:format(SOAP_11, whose, direction, step, details, upstream))
end

local NOT_PASSED = { ["content-length"] = true, ["transfer-encoding"] = true, connection = true }

-- Passes on the headers of the response to a subrequest, and renames some of them. A renamed header
-- replaces any other header with the same name.
local function pass_headers(got, renamed)
    for name, value in pairs(got.header) do
        local lower = name:lower()
        if not NOT_PASSED[lower] and not renamed[lower] then
            ngx.header[name] = value
        end
    end
    for name, value in pairs(got.header) do
        local to = renamed[name:lower()]
        if to then
            ngx.header[to] = value
        end
    end
end

-- The response of the upstream must be complete before its status is sent, so a subrequest fetches
-- it.
local function respond(chain, inner, body, renamed)
    local got = ngx.location.capture(inner, {
        method = ngx["HTTP_" .. ngx.req.get_method()],
        body = body,
    })
    pass_headers(got, renamed)
    if not chain then return send(got.status, got.body) end
    local result, _, _, step, why = run(chain, got.body, false)
    if why then
        return fault(chain, "Response", "Server", step, why, got.status)
    end
    return send(got.status, result)
end

local XSLT = "http://www.w3.org/1999/XSL/Transform"
local XML_TYPES = { ["text/xml"] = true, ["application/xml"] = true }
local HTML_DOCUMENT = 13
local length_out = ffi.new("int[1]")

-- Compiles a stylesheet for responses, with the values of its parameters and its output settings.
function soap.stylesheet(text, parameters)
    local doc = assert(parse(text))
    local said = {}
    for node in children(xml.xmlDocGetRootElement(doc)) do
        if named(node, "output") and node.ns ~= nil and ffi.string(node.ns.href) == XSLT then
            said.media_type = owned(xml.xmlGetNoNsProp(node, "media-type")) or said.media_type
            said.encoding = owned(xml.xmlGetNoNsProp(node, "encoding")) or said.encoding
        end
    end
    said.style = xslt.xsltParseStylesheetDoc(doc)
    assert(said.style ~= nil, "a stylesheet does not compile")
    said.parameters = parameters
    return said
end

-- Returns the result for a document as text, and whether it is HTML; returns nothing if there is no
-- result.
local function result_of(sheet, doc)
    local context = xslt.xsltNewTransformContext(sheet.style, doc)
    if context == nil then return end
    for name, value in pairs(sheet.parameters) do
        xslt.xsltQuoteOneUserParam(context, name, value)
    end
    local result = xslt.xsltApplyStylesheetUser(sheet.style, doc, nil, nil, nil, context)
    xslt.xsltFreeTransformContext(context)
    if result == nil then return end
    out[0] = nil
    local failed = xslt.xsltSaveResultToString(out, length_out, result, sheet.style) ~= 0 or out[0] == nil
    local text = not failed and ffi.string(out[0], length_out[0]) or ""
    local is_html = ffi.cast("soap_node *", result).type == HTML_DOCUMENT
    C.free(out[0])
    xml.xmlFreeDoc(result)
    if #text > 0 then return text, is_html end
end

local function result_type(before, sheet, is_html)
    local essence = before:match("^[^;]*"):gsub("%s+$", "")
    local charset = sheet.encoding or before:match('[cC][hH][aA][rR][sS][eE][tT]="?([^";]*)')
    local kind = sheet.media_type or (is_html and "text/html") or essence
    return charset and kind .. "; charset=" .. charset or kind
end

-- Fetches the complete response and applies stylesheets, in the access phase.
function soap.transform(sheets, inner, renamed)
    ngx.req.read_body()
    local method = ngx.req.get_method()
    local got = ngx.location.capture(inner .. ngx.var.uri .. ngx.var.is_args .. (ngx.var.args or ""), {
        method = ngx["HTTP_" .. method],
        always_forward_body = true,
    })
    if got.truncated then return ngx.exit(502) end
    local body, content_type = got.body, got.header["Content-Type"] or ""
    local is_xml = XML_TYPES[content_type:match("^[^;]*"):gsub("%s+$", ""):lower()]
    for _, sheet in ipairs(is_xml and not got.header["Content-Encoding"] and #body > 0 and sheets or {}) do
        local doc = parse(body)
        local text, is_html
        if doc then
            text, is_html = result_of(sheet, doc)
            xml.xmlFreeDoc(doc)
        end
        if not text then return ngx.exit(500) end
        body, content_type = text, result_type(content_type, sheet, is_html)
    end
    pass_headers(got, renamed)
    if #content_type > 0 then ngx.header.content_type = content_type end
    return send(got.status, body)
end

-- Processes a request on a route, in the rewrite phase. Responses that are processed, and those of
-- another upstream, come from separate locations.
function soap.process(chains, name, renamed)
    ngx.req.read_body()
    local body, target = ngx.req.get_body_data() or "", nil
    if chains.request then
        local result, other, whose, step, why = run(chains.request, body, true)
        if why then
            return fault(chains.request, "Request", whose, step, why)
        end
        target = other
        if result ~= body then
            body = result
            ngx.req.set_body_data(body)
        end
    end
    if target then
        local path = target.path
        local at = path:find("?", 1, true)
        ngx.req.set_uri_args(at and path:sub(at + 1) or "")
        ngx.req.set_uri(at and path:sub(1, at - 1) or path)
    end
    local upstream = target and target.upstream
    if chains.response or upstream then
        local arguments = ngx.var.is_args .. (ngx.var.args or "")
        local inner = ("/-whole-%s/%s"):format(upstream or "", name)
        return respond(chains.response, inner .. ngx.var.uri .. arguments, body, renamed)
    end
end

return soap
