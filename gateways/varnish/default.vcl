vcl 4.1;
{# A text of VCL has no escape: vcl_string puts it together from parts. #}
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
    # The mock that answers; only this file may set it.
    unset req.http.gatebench-mock;
{% for route in routes %}
{# A prefix ends where a segment ends: /json is not a prefix of /jsonx. #}
{% set whole = route.path is endingwith("/") %}
{% set pattern = "^" ~ (route.path | regex_literal) ~ ("" if whole else "(?:/|\\?|$)") %}
    {{ "" if loop.first else "else " }}if (req.url ~ {{ pattern | vcl_string }}) {
{% for policy in route.policies %}
{% if policy.api_key %}
        if (
{% for consumer in consumers %}
{% for value in consumer["keys"] %}
            req.http.{{ policy.api_key.header }} != {{ value | vcl_string }} &&
{% endfor %}
{% endfor %}
            true) {
            return (synth(401));
        }
{% elif policy.mock %}
        set req.http.gatebench-mock = {{ route.name | vcl_string }};
        return (synth({{ policy.mock.status }}));
{% endif %}
{% endfor %}
{% if route.strip_path and route.path != "/" %}
        set req.url = regsub(req.url, {{ ("^" ~ (route.path | regex_literal) ~ "/?") | vcl_string }}, "/");
{% endif %}
{% for upstream in upstreams if upstream.name == route.upstream %}
        set req.backend_hint = {{ upstream.name | word }}{{ ".backend()" if upstream.targets | length > 1 else "_1" }};
{% endfor %}
        return (pass);
    }
{% endfor %}
    return (synth(404));
}

sub vcl_synth {
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
