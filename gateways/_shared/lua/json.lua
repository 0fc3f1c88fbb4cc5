-- Edits JSON as text, without building a tree: values that are not edited are checked and copied
-- unchanged. Runs on LuaJIT (nginx, Envoy, Kong), on Lua 5.3 (HAProxy) and on KrakenD's Lua.
local json = {}

local byte, find, sub = string.byte, string.find, string.sub

local QUOTE, COMMA, COLON, BACKSLASH, DELETE = 34, 44, 58, 92, 127
local OPEN_LIST, OPEN_OBJECT = 91, 123
local DEPTH_MAX = 128

-- Aborts the edit of text that is not JSON.
local function not_json()
    error("not JSON", 0)
end

local function space(text, at)
    return find(text, "[^ \t\r\n]", at) or #text + 1
end

-- Returns the position of the closing quote of the string at `at`.
local function string_end(text, at)
    local from = at + 1
    while true do
        local stop = find(text, '["\\%c]', from) or not_json()
        local char = byte(text, stop)
        if char == QUOTE then
            return stop
        elseif char == DELETE then
            from = stop + 1
        elseif char ~= BACKSLASH then
            not_json()
        elseif find(text, "^u%x%x%x%x", stop + 1) then
            from = stop + 6
        elseif find(text, '^["\\/bfnrt]', stop + 1) then
            from = stop + 2
        else
            not_json()
        end
    end
end

local WORDS = { ["true"] = true, ["false"] = true, ["null"] = true }

-- Returns the position after a number or a word.
local function scalar_end(text, at)
    local stop = find(text, "[,%]} \t\r\n]", at) or #text + 1
    local token = sub(text, at, stop - 1)
    local is_number = find(token, "^-?%d[%d.eE+-]*$") and tonumber(token)
        and not find(token, "^-?0%d") and not find(token, "%.$") and not find(token, "%.[eE]")
    if not (WORDS[token] or is_number) then
        not_json()
    end
    return stop
end

-- Returns the position where the member's value begins, and that of the quote that ends its name.
local function member(text, at)
    if byte(text, at) ~= QUOTE then
        not_json()
    end
    local name_end = string_end(text, at)
    local colon = space(text, name_end + 1)
    if byte(text, colon) ~= COLON then
        not_json()
    end
    return space(text, colon + 1), name_end
end

-- Returns the position after a value.
local function value_end(text, at, depth)
    local char = byte(text, at)
    if char == QUOTE then
        return string_end(text, at) + 1
    elseif char ~= OPEN_OBJECT and char ~= OPEN_LIST then
        return scalar_end(text, at)
    elseif depth > DEPTH_MAX then
        not_json()
    end
    -- The code of a closing bracket is that of the opening bracket plus two.
    local is_object, close = char == OPEN_OBJECT, char + 2
    at = space(text, at + 1)
    if byte(text, at) == close then
        return at + 1
    end
    while true do
        if is_object then
            at = member(text, at)
        end
        at = space(text, value_end(text, at, depth + 1))
        char = byte(text, at)
        if char == close then
            return at + 1
        elseif char ~= COMMA then
            not_json()
        end
        at = space(text, at + 1)
    end
end

local function utf8(code)
    if code < 0x80 then
        return string.char(code)
    elseif code < 0x800 then
        return string.char(0xC0 + math.floor(code / 0x40), 0x80 + code % 0x40)
    elseif code < 0x10000 then
        return string.char(0xE0 + math.floor(code / 0x1000), 0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
    end
    return string.char(0xF0 + math.floor(code / 0x40000), 0x80 + math.floor(code / 0x1000) % 0x40,
        0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
end

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

-- Returns a name without its escapes.
local function unescaped(name)
    if not find(name, "\\", 1, true) then
        return name
    end
    name = name:gsub("\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", function(high, low)
        return utf8(0x10000 + (tonumber(high, 16) - 0xD800) * 0x400 + tonumber(low, 16) - 0xDC00)
    end)
    name = name:gsub("\\u(%x%x%x%x)", function(code) return utf8(tonumber(code, 16)) end)
    return (name:gsub("\\(.)", function(char) return ESCAPES[char] or char end))
end

local function quoted(name)
    local escape = function(char) return string.format("\\u%04x", byte(char)) end
    return '"' .. name:gsub('[%c"\\]', escape) .. '"'
end

local edited

-- Calls `part(position)` for each item or member between the brackets that open at `at`; the call
-- must return the position after the item or member. Returns the position after the closing
-- bracket.
local function parts(text, at, depth, part)
    if depth > DEPTH_MAX then
        not_json()
    end
    local close = byte(text, at) + 2
    at = space(text, at + 1)
    while byte(text, at) ~= close do
        at = space(text, part(at))
        local char = byte(text, at)
        if char == COMMA then
            at = space(text, at + 1)
            if byte(text, at) == close then
                not_json()
            end
        elseif char ~= close then
            not_json()
        end
    end
    return at + 1
end

local function edited_object(text, at, plan, depth)
    local members, seen = {}, {}
    local stop = parts(text, at, depth, function(from)
        local value, name_end = member(text, from)
        local name = unescaped(sub(text, from + 1, name_end - 1))
        local finish = value_end(text, value, depth + 1)
        members[#members + 1] = { name = name, from = from, value = value, finish = finish }
        seen[name] = true
        return finish
    end)
    -- A renamed member replaces the member that has its new name.
    local driven = {}
    for _, place in ipairs(plan) do
        if place.to and seen[place.name] then
            driven[place.to] = true
        end
    end
    local out = {}
    for _, it in ipairs(members) do
        local place = plan[it.name]
        if place and place.to then
            out[#out + 1] = quoted(place.to) .. ":" .. sub(text, it.value, it.finish - 1)
        elseif driven[it.name] or place and place.remove then
            -- Nothing is written, which removes the member.
        elseif place and place.add then
            out[#out + 1] = sub(text, it.from, it.value - 1) .. place.json
        elseif place and place.inside then
            out[#out + 1] = sub(text, it.from, it.value - 1) .. edited(text, it.value, place.inside, depth + 1)
        else
            out[#out + 1] = sub(text, it.from, it.finish - 1)
        end
    end
    for _, place in ipairs(plan) do
        if place.json and not seen[place.name] and not driven[place.name] then
            out[#out + 1] = quoted(place.name) .. ":" .. place.json
        end
    end
    return "{" .. table.concat(out, ",") .. "}", stop
end

local function edited_list(text, at, plan, depth)
    local out, count = {}, 0
    local stop = parts(text, at, depth, function(from)
        local finish = value_end(text, from, depth + 1)
        local place = plan[tostring(count)]
        count = count + 1
        if place and place.add then
            out[#out + 1] = place.json
        end
        if place and place.inside then
            out[#out + 1] = edited(text, from, place.inside, depth + 1)
        elseif not (place and place.remove) then
            out[#out + 1] = sub(text, from, finish - 1)
        end
        return finish
    end)
    for _, place in ipairs({ plan[tostring(count)] or false, plan["-"] or false }) do
        if place and place.json then
            out[#out + 1] = place.json
        end
    end
    return "[" .. table.concat(out, ",") .. "]", stop
end

-- Returns the edited text of the value at `at`, and the position after the value in `text`.
function edited(text, at, plan, depth)
    local char = byte(text, at)
    if char == OPEN_OBJECT then
        return edited_object(text, at, plan, depth)
    elseif char == OPEN_LIST then
        return edited_list(text, at, plan, depth)
    end
    local stop = value_end(text, at, depth)
    return sub(text, at, stop - 1), stop
end

local function whole(text, plan)
    local out, stop = edited(text, space(text, 1), plan, 0)
    if space(text, stop) <= #text then
        not_json()
    end
    return out
end

local Edits = {}
Edits.__index = Edits

-- Returns an empty list of edits. Their places are JSON Pointers (RFC 6901) into the text as
-- received.
function json.edits()
    return setmetatable({ plan = {} }, Edits)
end

local function put(self, pointer, place)
    local plan = self.plan
    local segments = {}
    for segment in pointer:gmatch("/([^/]*)") do
        segments[#segments + 1] = segment:gsub("~1", "/"):gsub("~0", "~")
    end
    for number, name in ipairs(segments) do
        local last = number == #segments
        local here = last and place or plan[name] or { inside = {} }
        if plan[name] == nil then
            here.name = name
            plan[#plan + 1] = here
            plan[name] = here
        end
        plan = here.inside
    end
    return self
end

function Edits:remove(pointer)
    return put(self, pointer, { remove = true })
end

function Edits:rename(pointer, to)
    return put(self, pointer, { to = to })
end

function Edits:add(pointer, text)
    return put(self, pointer, { add = true, json = text })
end

function Edits:default(pointer, text)
    return put(self, pointer, { json = text })
end

-- Returns the edited text; nil if the text is not JSON.
function Edits:of(text)
    local is_json, out = pcall(whole, text, self.plan)
    return is_json and out or nil
end

-- Reports whether a Content-Type is that of JSON.
function json.is_type(content_type)
    local kind = (content_type or ""):lower():match("^%s*([^;%s]*)")
    return kind == "application/json" or find(kind, "+json", 1, true) ~= nil and kind:sub(-5) == "+json"
end

return json
