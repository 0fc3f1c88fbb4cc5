// What nginx asks of each policy: "1" where the request is denied, "" where it may pass.

// With a colon before each key no key is the name of something that every object has.
const known_keys = {
{% for consumer in consumers %}
{% for value in consumer["keys"] %}
    {{ (":" ~ value) | tojson }}: {{ consumer.name | tojson }},
{% endfor %}
{% endfor %}
};

function unknown_key(key) {
    return key !== undefined && known_keys[':' + key] !== undefined ? '' : '1';
}

export default {
{% for route in routes %}
{% for policy in route.policies %}
{% if policy.api_key %}
    denied_{{ route.name | word }}_{{ loop.index }}: r => unknown_key(r.headersIn[{{ policy.api_key.header | tojson }}]),
{% endif %}
{% endfor %}
{% endfor %}
};
