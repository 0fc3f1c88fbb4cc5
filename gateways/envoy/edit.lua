-- Edits JSON in Envoy's Lua filter, which buffers a body until it is complete.
local json = require "json"

local edit = {}

local function text_of(body)
    return body:getBytes(0, body:length())
end

local function replace(handle, body, text)
    body:setBytes(text)
    if handle:headers():get("content-length") then
        handle:headers():replace("content-length", tostring(#text))
    end
end

-- A request with invalid JSON is refused.
function edit.request(handle, all)
    local body = #all > 0 and json.is_type(handle:headers():get("content-type")) and handle:body()
    if not body then
        return
    end
    local text = text_of(body)
    for _, edits in ipairs(all) do
        text = edits:of(text)
        if not text then
            handle:respond({ [":status"] = "400" }, "the body is not JSON")
            return
        end
    end
    replace(handle, body, text)
end

-- A response that is not JSON passes unchanged.
function edit.response(handle, all)
    local headers = handle:headers()
    if #all == 0 or not json.is_type(headers:get("content-type")) or headers:get("content-encoding") then
        return
    end
    local body = handle:body()
    if not body then
        return
    end
    local text = text_of(body)
    for _, edits in ipairs(all) do
        text = edits:of(text) or text
    end
    replace(handle, body, text)
end

return edit
