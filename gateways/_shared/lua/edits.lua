{#- Shared by the gateways that edit JSON in Lua; json.lua implements the operations. -#}
{% macro edits(settings) -%}
json.edits()
{%- for pointer in settings.remove %}:remove({{ pointer | lua_string }}){% endfor %}
{%- for pointer, to in settings.rename | items %}:rename({{ pointer | lua_string }}, {{ to | lua_string }}){% endfor %}
{%- for pointer, value in settings.add | items %}:add({{ pointer | lua_string }}, {{ value | tojson | lua_string }}){% endfor %}
{%- for pointer, value in settings.default | items %}:default({{ pointer | lua_string }}, {{ value | tojson | lua_string }}){% endfor %}
{%- endmacro %}
{#- Calls on_request and on_response for each route that has edits. -#}
{% macro edits_of_routes(routes) %}
{% for route in routes %}
{% set lists = namespace(request=[], response=[]) %}
{% for policy in route.policies %}
{% if policy.request_json %}
{% set lists.request = lists.request + [edits(policy.request_json)] %}
{% elif policy.response_json %}
{% set lists.response = lists.response + [edits(policy.response_json)] %}
{% endif %}
{% endfor %}
{% if lists.request %}
on_request({{ route.name | lua_string }}, { {{ lists.request | join(", ") }} })
{% endif %}
{% if lists.response %}
on_response({{ route.name | lua_string }}, { {{ lists.response | join(", ") }} })
{% endif %}
{% endfor %}
{% endmacro %}
