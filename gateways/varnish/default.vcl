vcl 4.1;
{% if routes | settings_of("rate_limit") %}
import vsthrottle;
{% endif %}
{% if routes | settings_of("request_size_limit") %}
import std;
{% endif %}
{# The edits of a policy. An added value is appended to the header, as a list (RFC 9110 section
   5.3). #}
{% macro edits(settings, of) %}
{% for name in settings.remove %}
        unset {{ of }}.http.{{ name }};
{% endfor %}
{% for name, to in settings.rename | items %}
        if ({{ of }}.http.{{ name }}) {
            set {{ of }}.http.{{ to }} = {{ of }}.http.{{ name }};
            unset {{ of }}.http.{{ name }};
        }
{% endfor %}
{% for name, value in settings.set | items %}
        set {{ of }}.http.{{ name }} = {{ value | vcl_string }};
{% endfor %}
{% for name, value in settings.add | items %}
        if ({{ of }}.http.{{ name }}) {
            set {{ of }}.http.{{ name }} = {{ of }}.http.{{ name }} + ", " + {{ value | vcl_string }};
        } else {
            set {{ of }}.http.{{ name }} = {{ value | vcl_string }};
        }
{% endfor %}
{% endmacro %}
{# VCL strings have no escapes, so vcl_string builds them from parts. #}
{% for upstream in upstreams %}
{% for target in upstream.targets %}

backend {{ upstream.name | word }}_{{ loop.index }} {
    .host = "{{ target.address }}";
    .port = "{{ target.port }}";
    .connect_timeout = 5s;
    .first_byte_timeout = 60s;
    .between_bytes_timeout = 60s;
}
{% endfor %}
{% endfor %}
{% if upstreams | map(attribute="targets") | map("length") | max > 1 %}

import directors;

sub vcl_init {
{% for upstream in upstreams %}
    new {{ upstream.name | word }} = directors.random();
{% for target in upstream.targets %}
    {{ upstream.name | word }}.add_backend({{ upstream.name | word }}_{{ loop.index }}, {{ target.weight }});
{% endfor %}
{% endfor %}
}
{% endif %}

sub vcl_recv {
    # Only this file may set these internal headers.
    unset req.http.gatebench-mock;
    unset req.http.gatebench-route;
    unset req.http.gatebench-realm;
{% for route in routes %}
{# A prefix ends where a segment ends: /json is not a prefix of /jsonx. #}
{% set whole = route.path is endingwith("/") %}
{% set pattern = "^" ~ (route.path | regex_literal) ~ ("" if whole else "(?:/|\\?|$)") %}
    {{ "" if loop.first else "else " }}if (req.url ~ {{ pattern | vcl_string }}) {
{% set caller = namespace(value="req.http.Authorization") %}
{% for policy in route.policies %}
{% if policy.api_key %}
{% set caller.value = "req.http." ~ policy.api_key.header %}
        if (
{% for consumer in consumers %}
{% for value in consumer["keys"] %}
            req.http.{{ policy.api_key.header }} != {{ value | vcl_string }} &&
{% endfor %}
{% endfor %}
            true) {
            return (synth(401));
        }
{% elif policy.basic_auth %}
        if (
{% for consumer in consumers if consumer.password %}
            req.http.Authorization != {{ ("Basic " ~ ((consumer.name ~ ":" ~ consumer.password) | base64)) | vcl_string }} &&
{% endfor %}
            true) {
            set req.http.gatebench-realm = {{ ('Basic realm="' ~ policy.basic_auth.realm ~ '"') | vcl_string }};
            return (synth(401));
        }
{% elif policy.rate_limit %}
{% set limit = policy.rate_limit %}
{% set counted = {"route": "", "consumer": " + " ~ caller.value, "header": " + req.http." ~ limit.header} %}
        if (vsthrottle.is_denied({{ (route.name ~ "-" ~ loop.index ~ " ") | vcl_string }}{{ counted[limit.per] }}, {{ limit.limit }}, {{ limit.window | seconds }}s)) {
            return (synth(429));
        }
{% elif policy.request_size_limit %}
        if (std.integer(req.http.Content-Length, 0) > {{ policy.request_size_limit.max_bytes }}) {
            return (synth(413));
        }
{% elif policy.request_headers %}
{{ edits(policy.request_headers, "req") }}
{%- elif policy.response_headers %}
        set req.http.gatebench-route = {{ route.name | vcl_string }};
{% elif policy.mock %}
        set req.http.gatebench-mock = {{ route.name | vcl_string }};
        return (synth({{ policy.mock.status }}));
{% endif %}
{% endfor %}
{% if route.strip_path and route.path != "/" %}
        set req.url = regsub(req.url, {{ ("^" ~ (route.path | regex_literal) ~ "/?") | vcl_string }}, "/");
{% endif %}
{% set upstream = upstreams[route.upstream_index] %}
        set req.backend_hint = {{ upstream.name | word }}{{ ".backend()" if upstream.targets | length > 1 else "_1" }};
        return (pass);
    }
{% endfor %}
    return (synth(404));
}

{% if routes | settings_of("response_headers") %}
sub vcl_backend_fetch {
    unset bereq.http.gatebench-route;
}

sub vcl_deliver {
{% for route in routes if route.policies | selectattr("response_headers") | list %}
    if (req.http.gatebench-route == {{ route.name | vcl_string }}) {
{% for policy in route.policies if policy.response_headers %}
{{ edits(policy.response_headers, "resp") }}
{%- endfor %}
    }
{% endfor %}
}

{% endif %}
sub vcl_synth {
    if (req.http.gatebench-realm) {
        set resp.http.WWW-Authenticate = req.http.gatebench-realm;
    }
{% for route in routes %}
{% for policy in route.policies if policy.mock %}
    if (req.http.gatebench-mock == {{ route.name | vcl_string }}) {
        set resp.http.Content-Type = {{ policy.mock.content_type | vcl_string }};
        synthetic({{ policy.mock.body | vcl_string }});
        return (deliver);
    }
{% endfor %}
{% endfor %}
    set resp.http.Content-Type = "text/plain";
    synthetic(resp.reason);
    return (deliver);
}
