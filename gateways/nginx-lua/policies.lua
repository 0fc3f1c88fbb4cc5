-- The policies of each route, in their order; the first that answers ends the request.
local policies = {}

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

policies[{{ route.name | lua_string }}] = function()
{% for policy in route.policies %}
{% if policy.api_key %}
    local key = header({{ policy.api_key.header | lower | lua_string }})
    if not (key and known_keys[key]) then
        return ngx.exit(401)
    end
{% elif policy.mock %}
    if true then
        return answer({{ policy.mock.status }}, {{ policy.mock.content_type | lua_string }}, {{ policy.mock.body | lua_string }})
    end
{% endif %}
{% endfor %}
end
{% endfor %}

return policies
