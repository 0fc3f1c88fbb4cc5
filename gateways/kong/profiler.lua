-- A plug-in that does not act on requests: Kong only calls this function when a worker starts.
local plugin = { PRIORITY = 1, VERSION = "1.0.0" }

function plugin:init_worker()
  require("profile").start({{ (work ~ "/lua.profile.") | lua_string }}, {{ profile }})
end

return plugin
