local keys = {
{% for known in consumers | each_key %}
    [{{ known.key | lua_string }}] = true,
{% endfor %}
}

function require_key(header)
    if not keys[ctx.load():headers(header)] then
        custom_error("no known key", 401)
    end
end
