{% from "../_shared/lua/edits.lua" import edits_of_routes %}
-- Edits JSON in Kong's post-function. A body is edited once it is complete.
local json = require "json"

local requests, responses = {}, {}

local function on_request(name, all)
    requests[name] = all
end

local function on_response(name, all)
    responses[name] = all
end

{{ edits_of_routes(all_routes) }}

local edit = {}

-- A request with invalid JSON is refused.
function edit.request(name)
    if not json.is_type(kong.request.get_header("Content-Type")) then
        return
    end
    local body = kong.request.get_raw_body()
    if not body or body == "" then
        return
    end
    for _, edits in ipairs(requests[name]) do
        body = edits:of(body)
        if not body then
            return kong.response.exit(400, "the body is not JSON")
        end
    end
    kong.service.request.set_raw_body(body)
end

-- Editing changes the length of a response. Kong's own responses are not edited.
function edit.start_response()
    local header = kong.response.get_header
    local is_upstreams = kong.response.get_source() == "service"
    if is_upstreams and json.is_type(header("Content-Type")) and not header("Content-Encoding") then
        kong.response.clear_header("Content-Length")
        ngx.ctx.is_edited = true
    end
end

-- Kong buffers the response until it is complete. A response that is not JSON passes unchanged.
function edit.response(name)
    local body = ngx.ctx.is_edited and kong.response.get_raw_body()
    if not body then
        return
    end
    for _, edits in ipairs(responses[name]) do
        body = edits:of(body) or body
    end
    kong.response.set_raw_body(body)
end

return edit
