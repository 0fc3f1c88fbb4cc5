{% from "../nginx-lua/edits.lua" import edits_of_routes %}
-- Edits of JSON, for Kong's post-function. A body is edited when it is whole.
local json = require "json"

local requests, answers = {}, {}

local function on_request(name, all)
    requests[name] = all
end

local function on_answer(name, all)
    answers[name] = all
end

{{ edits_of_routes(all_routes) }}

local edit = {}

-- A request whose JSON is broken is refused.
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

-- An answer that will be edited has another length. Kong's own are not edited.
function edit.begin_answer()
    local header = kong.response.get_header
    local is_upstreams = kong.response.get_source() == "service"
    if is_upstreams and json.is_type(header("Content-Type")) and not header("Content-Encoding") then
        kong.response.clear_header("Content-Length")
        ngx.ctx.is_edited = true
    end
end

-- Kong holds the answer until it is whole. One that is not JSON passes as it is.
function edit.answer(name)
    local body = ngx.ctx.is_edited and kong.response.get_raw_body()
    if not body then
        return
    end
    for _, edits in ipairs(answers[name]) do
        body = edits:of(body) or body
    end
    kong.response.set_raw_body(body)
end

return edit
