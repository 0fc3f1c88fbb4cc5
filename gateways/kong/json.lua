{% include "../nginx-lua/json.lua" %}
