// Functions that nginx calls to judge requests and to edit JSON. Functions with which js_set judges
// requests return "1" if the request is denied, and "" if it may pass.
import hash from 'crypto';

// With a colon before each key, no key is the name of a property that every object has.
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

// Returns the parts of a token; null if the token does not satisfy the rules.
function token_of(r, rules) {
    const found = /^bearer +([\w-]+)\.([\w-]+)\.([\w-]*)$/i.exec(r.headersIn.Authorization || '');
    if (!found) {
        return null;
    }
    let head, claims;
    try {
        head = JSON.parse(Buffer.from(found[1], 'base64url').toString());
        claims = JSON.parse(Buffer.from(found[2], 'base64url').toString());
    } catch (e) {
        return null;
    }
    const now = Date.now() / 1000;
    const audience = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
    const holds = (rules.issuer === null || claims.iss === rules.issuer)
        && (rules.audience === null || audience.includes(rules.audience))
        && (claims.exp === undefined || now < claims.exp + rules.leeway)
        && (claims.nbf === undefined || now >= claims.nbf - rules.leeway);
    return holds ? { head, claims, text: `${found[1]}.${found[2]}`, signature: found[3] } : null;
}

function fits(key, head, alg) {
    return key.alg === alg && head.alg === alg && (!key.id || head.kid === undefined || head.kid === key.id);
}

// Judges tokens that are signed with a secret, synchronously.
function denied_token(r, rules) {
    const token = token_of(r, rules);
    const signs = key => hash.createHmac('sha256', key.key).update(token.text).digest('base64url') === token.signature;
    return token && rules.keys.some(key => fits(key, token.head, 'HS256') && signs(key)) ? '' : '1';
}

// Judges tokens that are signed with a secret or an RSA key. WebCrypto verifies RSA signatures
// asynchronously, so auth_request calls this function.
async function judge_token(r, rules) {
    const token = token_of(r, rules);
    let is_good = token && denied_token(r, rules) === '';
    for (let n = 0; token && !is_good && n < rules.keys.length; n++) {
        is_good = fits(rules.keys[n], token.head, 'RS256') && await is_signed(rules.keys[n].key, token);
    }
    r.return(is_good ? 204 : 401);
}

async function is_signed(pem, token) {
    const der = Buffer.from(pem.replace(/-----[^-]*-----|\s/g, ''), 'base64');
    const kind = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const rsa = await crypto.subtle.importKey('spki', der, kind, false, ['verify']);
    return crypto.subtle.verify(kind, rsa, Buffer.from(token.signature, 'base64url'), token.text);
}

// Returns the token's subject, by which requests are counted. A token has already been verified,
// unless the route accepts RS256 tokens, which are verified after rate limits.
function subject(r) {
    const token = token_of(r, { issuer: null, audience: null, leeway: Infinity });
    return token ? String(token.claims.sub) : '';
}

function is_json(content_type) {
    return /^\s*application\/([\w.-]+\+)?json\s*(;|$)/i.test(content_type || '');
}

// Returns the place that a JSON Pointer (RFC 6901) names: the object or list around it, and the
// last part of the path; null if there is no such object or list.
function place(document, pointer) {
    const path = pointer.slice(1).split('/').map(part => part.replace(/~1/g, '/').replace(/~0/g, '~'));
    const name = path.pop();
    const around = path.reduce((at, part) => at !== null && typeof at === 'object' ? at[part] : undefined, document);
    return around !== null && typeof around === 'object' ? { around, name } : null;
}

// Adds a value: a member is replaced; an item is inserted before the existing one.
function put(at, value) {
    if (!Array.isArray(at.around)) {
        at.around[at.name] = value;
    } else if (at.name === '-') {
        at.around.push(value);
    } else if (Number(at.name) <= at.around.length) {
        at.around.splice(Number(at.name), 0, value);
    }
}

// All places refer to the document as received. Items are removed from the end, because a removal
// moves later items.
function edited(document, edits) {
    const sought = pointers => pointers.map(pointer => place(document, pointer));
    const names = Object.keys;
    const removed = sought(edits.remove), renamed = sought(names(edits.rename));
    const added = sought(names(edits.add)), missing = sought(names(edits.default));
    missing.forEach((at, n) => at && at.around[at.name] === undefined && put(at, names(edits.default).map(it => edits.default[it])[n]));
    added.forEach((at, n) => at && !Array.isArray(at.around) && put(at, edits.add[names(edits.add)[n]]));
    const moving = removed.map(at => ({ at })).concat(added.map((at, n) => ({ at, value: edits.add[names(edits.add)[n]] })));
    moving.filter(it => it.at && Array.isArray(it.at.around))
        .sort((a, b) => (b.at.name === '-' ? Infinity : Number(b.at.name)) - (a.at.name === '-' ? Infinity : Number(a.at.name)))
        .forEach(it => 'value' in it ? put(it.at, it.value) : it.at.around.splice(Number(it.at.name), 1));
    removed.forEach(at => at && !Array.isArray(at.around) && delete at.around[at.name]);
    renamed.forEach((at, n) => {
        if (at && !Array.isArray(at.around) && at.around[at.name] !== undefined) {
            at.around[edits.rename[names(edits.rename)[n]]] = at.around[at.name];
            delete at.around[at.name];
        }
    });
    return document;
}

// The edited request continues in a named location, which sends the variable in place of the body.
function edit_request(r, name, all) {
    if (!is_json(r.headersIn['Content-Type']) || !r.requestText) {
        return r.internalRedirect(`@plain_${name}`);
    }
    try {
        r.variables.edited_body = JSON.stringify(all.reduce(edited, JSON.parse(r.requestText)));
    } catch (e) {
        return r.return(400);
    }
    r.internalRedirect(`@edited_${name}`);
}

// Each request has its own virtual machine, and therefore its own copy of these variables.
let held = '';
let is_edited = false;

function start_response(r) {
    is_edited = is_json(r.headersOut['Content-Type']) && !r.headersOut['Content-Encoding'];
    if (is_edited) {
        delete r.headersOut['Content-Length'];
    }
}

function edit_response(r, data, flags, all) {
    if (!is_edited) {
        return r.sendBuffer(data, flags);
    }
    held += data;
    if (flags.last) {
        let text = held;
        try {
            text = JSON.stringify(all.reduce(edited, JSON.parse(held)));
        } catch (e) {
            // A body that is not JSON passes unchanged.
        }
        r.sendBuffer(text, flags);
    }
}

export default {
    start_response,
    subject,
{% for route in routes %}
{% set lists = namespace(request=[], response=[]) %}
{% for policy in route.policies %}
{% if policy.api_key %}
    denied_{{ route.name | word }}_{{ loop.index }}: r => unknown_key(r.headersIn[{{ policy.api_key.header | tojson }}]),
{% elif policy.jwt %}
{% set keys = namespace(all=[], function="denied_token") %}
{% for key in policy.jwt["keys"] %}
{% if key.hs256 is defined %}
{% set keys.all = keys.all + [{"alg": "HS256", "id": key.hs256.id, "key": key.hs256.secret}] %}
{% else %}
{% set keys.all = keys.all + [{"alg": "RS256", "id": key.rs256.id, "key": key.rs256.public_key}] %}
{% set keys.function = "judge_token" %}
{% endif %}
{% endfor %}
    denied_{{ route.name | word }}_{{ loop.index }}: r => {{ keys.function }}(r, {{ {"keys": keys.all, "issuer": policy.jwt.issuer, "audience": policy.jwt.audience, "leeway": policy.jwt.leeway | seconds} | tojson }}),
{% elif policy.request_json %}
{% set lists.request = lists.request + [policy.request_json] %}
{% elif policy.response_json %}
{% set lists.response = lists.response + [policy.response_json] %}
{% endif %}
{% endfor %}
{% if lists.request %}
    request_{{ route.name | word }}: r => edit_request(r, {{ route.name | word | tojson }}, {{ lists.request | tojson }}),
{% endif %}
{% if lists.response %}
    response_{{ route.name | word }}: (r, data, flags) => edit_response(r, data, flags, {{ lists.response | tojson }}),
{% endif %}
{% endfor %}
};
