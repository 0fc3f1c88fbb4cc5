{% from "../_shared/lua/edits.lua" import edits_of_routes %}
-- Edits JSON. HAProxy waits until a body is complete (wait-for-body). An action creates the new
-- text, and a filter replaces the body, because only filters may change it.
local json = require "json"

local function edited(all, text)
    for _, edits in ipairs(all) do
        text = text and edits:of(text)
    end
    return text
end

local function on_request(name, all)
    core.register_action("edit-request-" .. name, { "http-req" }, function(txn)
        local body = txn.sf:req_body()
        if not json.is_type(txn.sf:req_fhdr("content-type")) or body == "" then
            return
        end
        local text = edited(all, body)
        if text then
            txn:set_var("txn.request_json", text)
        else
            txn:set_var("txn.broken", true)
        end
    end)
end

local function on_response(name, all)
    core.register_action("edit-response-" .. name, { "http-res" }, function(txn)
        if json.is_type(txn.sf:res_fhdr("content-type")) and txn.sf:res_fhdr("content-encoding") == "" then
            local text = edited(all, txn.sf:res_body())
            if text then
                txn:set_var("txn.response_json", text)
            end
        end
    end)
end

local Replace = { id = "replace bodies", flags = filter.FLT_CFG_FL_HTX }
Replace.__index = Replace

function Replace:new()
    return setmetatable({}, self)
end

function Replace:start_analyze(_, channel)
    filter.register_data_filter(self, channel)
end

-- Returns the variable to which the actions write the new text.
local function place(message)
    return message.channel:is_resp() and "txn.response_json" or "txn.request_json"
end

function Replace:http_payload(txn, message)
    local text = txn:get_var(place(message))
    if text then
        txn:unset_var(place(message))
        message:set(text)
    end
end

core.register_filter("replace-bodies", Replace, function(new) return new end)
{{ edits_of_routes(routes) }}
