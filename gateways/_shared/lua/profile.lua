-- Samples the Lua stacks of an nginx worker with LuaJIT's own profiler, for `gatebench flame`.

local profiler = require "jit.profile"

local getinfo = debug.getinfo

local WRITE_EVERY = 0.1  -- seconds
local DEPTH_MAX = 200
-- In these states, no Lua function runs.
local INNERMOST = { G = "garbage collection", J = "JIT compiler" }
local OUTSIDE = "nginx outside Lua"

-- Returns the name of the file, preceded by only its own folder, so that stacks of two
-- installations are comparable.
local function file_of(source)
  local path = source:match("^[@=](.*)") or "string"
  return path:match("[^/]+/[^/]+$") or path
end

local function frame_of(info)
  if info.what == "C" then
    return (info.name or "function") .. " (C)"
  elseif info.what == "main" then
    return file_of(info.source)
  end
  return ("%s (%s:%d)"):format(info.name or "function", file_of(info.source), info.linedefined)
end

-- Returns the functions on the stack, outermost first.
local function stack_of(thread, state)
  local inwards = { INNERMOST[state] }
  for level = 0, DEPTH_MAX - 1 do
    local info = getinfo(thread, level, "nS")
    if not info then
      break
    end
    table.insert(inwards, 1, (frame_of(info):gsub("[;%c]", " ")))
  end
  -- A timer that expires outside Lua is noticed at the first instruction of the next chunk.
  if state == "C" and #inwards <= 1 then
    return OUTSIDE
  end
  return table.concat(inwards, ";")
end

local M = {}

-- Appends lines to the file whose name is `prefix` and the process ID: the time in milliseconds,
-- the CPU time of a stack in nanoseconds, and the stack. The kernel may sample less often than
-- requested, so the CPU time of the process is divided among the samples.
function M.start(prefix, samples_per_second)
  local file = assert(io.open(prefix .. ngx.worker.pid(), "a"))
  local counts, total, since = {}, 0, os.clock()
  local interval_ms = math.max(1, math.floor(1000 / samples_per_second + 0.5))
  profiler.start("li" .. interval_ms, function(thread, samples, state)
    local stack = stack_of(thread, state)
    counts[stack] = (counts[stack] or 0) + samples
    total = total + samples
  end)
  assert(ngx.timer.every(WRITE_EVERY, function()
    if total == 0 then
      return
    end
    local now, cpu = ngx.now() * 1000, os.clock()
    local sample_ns = (cpu - since) / total * 1e9
    local written = counts
    counts, total, since = {}, 0, cpu
    for stack, count in pairs(written) do
      file:write(("%d %d %s\n"):format(now, count * sample_ns, stack))
    end
    file:flush()
  end))
end

return M
