-- sizes: Responses of two sizes
-- Written by gatebench for wrk.

local texts = {}

function init(args)
  texts[#texts + 1] = wrk.format("GET", "/size/350B", {["X-Api-Key"] = "it's"}, nil)
  texts[#texts + 1] = wrk.format("GET", "/size/1KB?a=b", {["X-Api-Key"] = "it's"}, nil)
end

local turn = 0
function request()
  turn = turn % #texts + 1
  return texts[turn]
end

looked_at = true
check_names = {"\"status is 200\"", "\"header content-type is 'text/plain'\"", "\"body contains 'x'\""}
failed = {0, 0, 0}
classes = {0, 0, 0, 0, 0}

local function field(headers, name)
  for key, value in pairs(headers) do
    if key:lower() == name then return value end
  end
end

function response(status, headers, body)
  local class = math.floor(status / 100)
  classes[class] = (classes[class] or 0) + 1
  if not (status == 200) then failed[1] = failed[1] + 1 end
  if not (field(headers, "content-type") == "text/plain") then failed[2] = failed[2] + 1 end
  if not (body:find("x", 1, true)) then failed[3] = failed[3] + 1 end
end

local threads = {}

local function sum(name, index)
  local total = 0
  for _, thread in ipairs(threads) do
    local counts = thread:get(name)
    total = total + (counts and counts[index] or 0)
  end
  return total
end

local function report(summary, latency)
  local out = {}
  local function put(format, ...) out[#out + 1] = string.format(format, ...) end
  put('{"requests":%d,"duration_us":%d,"bytes":%d', summary.requests, summary.duration, summary.bytes)
  put(',"min_us":%.3f,"mean_us":%.3f,"max_us":%.3f', latency.min, latency.mean, latency.max)
  put(',"percentiles_us":{')
  for index, percentile in ipairs({"50", "90", "95", "99", "99.9"}) do
    put('%s"%s":%.3f', index > 1 and "," or "", percentile, latency:percentile(tonumber(percentile)))
  end
  put('},"errors":{')
  for index, kind in ipairs({"connect", "read", "write", "timeout"}) do
    put('%s"%s":%d', index > 1 and "," or "", kind, summary.errors[kind])
  end
  put('},"status_400_and_above":%d', summary.errors.status)
  put(',"classes":[')
  for class = 1, looked_at and 5 or 0 do
    put('%s%d', class > 1 and "," or "", sum("classes", class))
  end
  put('],"checks_failed":{')
  for index, name in ipairs(check_names or {}) do
    put('%s%s:%d', index > 1 and "," or "", name, sum("failed", index))
  end
  put('}}')
  io.write("GATEBENCH ", table.concat(out), "\n")
end

function setup(thread)
  threads[#threads + 1] = thread
end

function done(summary, latency, requests)
  report(summary, latency)
end
