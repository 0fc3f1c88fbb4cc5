-- The policies of each route, in their order; the first that answers ends the request.
local policies = {}
{% set soap_routes = routes | settings_of("soap") %}
{% if soap_routes %}
local soap = require "soap"
{% endif %}

-- The header as it is for one that came once; nil for one that is missing or came twice.
local function header(name)
    local value = ngx.req.get_headers(0)[name]
    return type(value) == "string" and value or nil
end

local function answer(status, content_type, body)
    ngx.status = status
    ngx.header.content_type = content_type
    ngx.header.content_length = #body
    ngx.print(body)
    return ngx.exit(status)
end

local known_keys = {
{% for consumer in consumers %}
{% for value in consumer["keys"] %}
    [{{ value | lua_string }}] = {{ consumer.name | lua_string }},
{% endfor %}
{% endfor %}
}
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
            { xpath = {{ target.xpath | lua_string }}, condition = {{ target.condition | lua_string }}, path = {{ target.path | lua_string }} },
{% endfor %}
        },
        namespaces = {
{% for prefix, uri in (chain.route_xpath_register_ns if "route_xpath_register_ns" in chain else {}) | items %}
            [{{ prefix | lua_string }}] = {{ uri | lua_string }},
{% endfor %}
        },
{% for key in ["xsd_soap12_schema", "includes", "xslt_params"] if key in chain %}
        refused = error "this script knows no {{ key }}",
{% endfor %}
    },
{% endfor %}
}
{% endfor %}

policies[{{ route.name | lua_string }}] = function()
{% for policy in route.policies %}
{% if policy.api_key %}
    local key = header({{ policy.api_key.header | lower | lua_string }})
    if not (key and known_keys[key]) then
        return ngx.exit(401)
    end
{% elif policy.soap %}
    soap.process(chains_{{ route.name | word }}, {{ ("/-soap-/" ~ route.name) | lua_string }})
{% elif policy.mock %}
    if true then
        return answer({{ policy.mock.status }}, {{ policy.mock.content_type | lua_string }}, {{ policy.mock.body | lua_string }})
    end
{% endif %}
{% endfor %}
end
{% endfor %}

return policies
