-- Keys as Tyk stores them; `redis-cli` runs this file in Redis.
local session = {{ {"org_id": "gatebench", "expires": 0, "quota_max": -1} | tojson | lua_string }}
{% for known in consumers | each_key %}
redis.call("SET", "apikey-" .. {{ known.key | lua_string }}, session)
{% endfor %}
return "loaded"
