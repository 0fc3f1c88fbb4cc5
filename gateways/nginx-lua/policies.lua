-- The policies of each route, grouped by phase: `judge` (rewrite), `request` (access), `header` and
-- `body` (filters of the response). The first policy that responds ends the request.
local json = require "json"
{% if routes | settings_of("jwt") %}
local token = require "token"
{% endif %}

local policies = {}
{% if routes | settings_of("soap") or routes | settings_of("response_xslt") %}
local soap = require "soap"
{% endif %}

-- Returns the value of a header; nil if the header is missing or occurs more than once.
local function header(name)
    local value = ngx.req.get_headers(0)[name]
    return type(value) == "string" and value or nil
end

local function respond(status, content_type, body)
    ngx.status = status
    ngx.header.content_type = content_type
    ngx.header.content_length = #body
    ngx.print(body)
    return ngx.exit(status)
end

-- Returns the request's body; nil if there is none. A body that does not fit into memory is in a
-- file.
local function request_body()
    ngx.req.read_body()
    local body, file = ngx.req.get_body_data(), ngx.req.get_body_file()
    if not body and file then
        local stream = assert(io.open(file, "rb"))
        body = stream:read("*a")
        stream:close()
    end
    return body
end

local function edit_request(all)
    if not json.is_type(ngx.var.content_type) then
        return
    end
    local body = request_body()
    for _, edits in ipairs(body and all or {}) do
        body = edits:of(body)
        if not body then
            return ngx.exit(400)
        end
    end
    if body then
        ngx.req.set_body_data(body)
    end
end

-- Editing changes the length of a response.
local function start_response()
    if json.is_type(ngx.header.content_type) and not ngx.header.content_encoding then
        ngx.header.content_length = nil
        ngx.ctx.held = {}
    end
end

-- Buffers the response until it is complete; a response that is not JSON passes unchanged.
local function edit_response(all)
    local held = ngx.ctx.held
    if not held then
        return
    end
    held[#held + 1] = ngx.arg[1]
    ngx.arg[1] = nil
    if ngx.arg[2] then
        local body = table.concat(held)
        for _, edits in ipairs(all) do
            body = edits:of(body) or body
        end
        ngx.arg[1] = body
    end
end

local known_keys = {
{% for consumer in consumers %}
{% for value in consumer["keys"] %}
    [{{ value | lua_string }}] = {{ consumer.name | lua_string }},
{% endfor %}
{% endfor %}
}
{% from "../_shared/lua/edits.lua" import edits %}
{% for route in routes if route.policies %}

{% for policy in route.policies if policy.soap %}
local chains_{{ route.name | word }} = {
{% for direction, chain in policy.soap | items %}
    {{ direction }} = soap.compile {
{% for key in ["xslt_transform_before", "xslt_transform_after", "xsd_soap_schema", "xsd_api_schema", "soap_action"] if key in chain %}
        {{ key }} = {{ chain[key] | lua_string }},
{% endfor %}
        verbose = {{ "true" if chain.verbose else "false" }},
        targets = {
{% for target in (chain.route_xpath_targets if "route_xpath_targets" in chain else []) %}
            { xpath = {{ target.xpath | lua_string }}, condition = {{ target.condition | lua_string }}, path = {{ target.path | lua_string }}{% if "upstream" in target %}, upstream = {{ target.upstream | lua_string }}{% endif %} },
{% endfor %}
        },
        namespaces = {
{% for prefix, uri in (chain.route_xpath_register_ns if "route_xpath_register_ns" in chain else {}) | items %}
            [{{ prefix | lua_string }}] = {{ uri | lua_string }},
{% endfor %}
        },
{% for key in ["xsd_soap12_schema", "includes", "xslt_params"] if key in chain %}
        refused = error "this script does not support {{ key }}",
{% endfor %}
    },
{% endfor %}
}
{% endfor %}

policies[{{ route.name | lua_string }}] = (function()
    local request_edits, response_edits, stylesheets, renamed = {}, {}, {}, {}
{% for policy in route.policies %}
{% if policy.jwt %}
    local jwt_{{ loop.index }} = token.rules()
{% if policy.jwt.issuer %}
        :issued_by({{ policy.jwt.issuer | lua_string }})
{% endif %}
{% if policy.jwt.audience %}
        :meant_for({{ policy.jwt.audience | lua_string }})
{% endif %}
        :with_leeway({{ policy.jwt.leeway | seconds }})
{% for key in policy.jwt["keys"] %}
{% if key.hs256 is defined %}
        :hs256({{ key.hs256.secret | lua_string }}, {{ key.hs256.id | lua_string if key.hs256.id else "nil" }})
{% else %}
        :rs256({{ key.rs256.public_key | lua_string }}, {{ key.rs256.id | lua_string if key.rs256.id else "nil" }})
{% endif %}
{% endfor %}
{% elif policy.request_json %}
    request_edits[#request_edits + 1] = {{ edits(policy.request_json) }}
{% elif policy.response_json %}
    response_edits[#response_edits + 1] = {{ edits(policy.response_json) }}
{% elif policy.response_xslt %}
    stylesheets[#stylesheets + 1] = soap.stylesheet({{ policy.response_xslt.stylesheet | lua_string }}, {
{% for name, value in policy.response_xslt.params | items %}
        [{{ name | lua_string }}] = {{ value | lua_string }},
{% endfor %}
    })
{% elif policy.response_headers %}
{% for name, to in policy.response_headers.rename | items %}
    renamed[{{ name | lower | lua_string }}] = {{ to | lua_string }}
{% endfor %}
{% endif %}
{% endfor %}
    return {
        judge = function()
{% for policy in route.policies %}
{% if policy.api_key %}
            local key = header({{ policy.api_key.header | lower | lua_string }})
            if not (key and known_keys[key]) then
                return ngx.exit(401)
            end
{% elif policy.jwt %}
            local subject = jwt_{{ loop.index }}:subject_of(header("authorization"))
            if not subject then
                return ngx.exit(401)
            end
            ngx.var.subject = subject
{% elif policy.soap %}
            soap.process(chains_{{ route.name | word }}, {{ route.name | lua_string }}, renamed)
{% elif policy.mock %}
            if true then
                return respond({{ policy.mock.status }}, {{ policy.mock.content_type | lua_string }}, {{ policy.mock.body | lua_string }})
            end
{% endif %}
{% endfor %}
        end,
        request = function()
            if #request_edits > 0 then edit_request(request_edits) end
            if #stylesheets > 0 then return soap.transform(stylesheets, {{ ("/-whole-/" ~ route.name) | lua_string }}, renamed) end
        end,
        header = start_response,
        body = function() return edit_response(response_edits) end,
    }
end)()
{% endfor %}

return policies
