{% from "../_shared/lua/edits.lua" import edits_of_routes %}
-- Edits JSON. A body is edited once it is complete.
local json = (function()
{% include "../_shared/lua/json.lua" %}
end)()

local requests, responses = {}, {}

local function on_request(name, all)
    requests[name] = all
end

local function on_response(name, all)
    responses[name] = all
end

{{ edits_of_routes(routes) }}

-- A request with invalid JSON is refused.
function edit_request(name)
    local request = ctx.load()
    local text = request:body()
    if text == "" or not json.is_type(request:headers("Content-Type")) then
        return
    end
    for _, edits in ipairs(requests[name]) do
        text = edits:of(text)
        if not text then
            custom_error("the body is not JSON", 400)
        end
    end
    request:body(text)
    request:headers("Content-Length", tostring(#text))
end

-- A response that is not JSON passes unchanged.
function edit_response(name)
    local own = response.load()
    local is_json = json.is_type(own:headers("Content-Type"))
    if not is_json or own:headers("Content-Encoding") ~= "" then
        return
    end
    local text = own:body()
    for _, edits in ipairs(responses[name]) do
        text = edits:of(text) or text
    end
    own:body(text)
    own:headers("Content-Length", tostring(#text))
end
