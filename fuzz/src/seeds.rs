//! The inputs that the fuzzer starts from: valid messages, and variants that lead to other results.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_net::http2::{Block, Client, Limits, Server, Settings};

use crate::{cuts, gateway, xml};

/// The inputs of all targets, each list with the name of its target.
pub fn all() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let (asked, answered) = conversation();
    vec![
        ("http1_responses", directed(RESPONSES)),
        ("http1_requests", directed(REQUESTS)),
        ("http1_chunked", directed(CHUNKED)),
        ("http2_client", directed(&[&answered[..], &answered[9..]])),
        (
            "http2_server",
            directed(&[&asked[..], &asked[24..], &asked[33..]]),
        ),
        (
            "hpack",
            directed(&[
                &block()[..],
                RFC_7541_C_4,
                b"\x82\x84\x87\xbe\x40\x01a\x01b",
            ]),
        ),
        ("gzip", gzipped()),
        ("model", texts(FILES)),
        ("gateway_config", texts(&[gateway::CONFIGURATION])),
        ("gateway_requests", texts(POLICIES)),
        ("gateway_json", texts(BODIES)),
        ("gateway_paths", texts(TARGETS)),
        ("gateway_tokens", texts(&[TOKEN, "a.b.c"])),
        ("gateway_contract", texts(CONTRACTS)),
        ("gateway_documents", texts(DOCUMENTS)),
        (
            "gateway_redis",
            directed(&[
                &b":1\r\n:1\r\n:999\r\n"[..],
                b"+OK\r\n$3\r\nabc\r\n$-1\r\n-ERR no\r\n",
            ]),
        ),
        ("template", texts(TEMPLATES)),
        ("trace", texts(TRACES)),
        ("xml_body", texts(&[xml::ENVELOPE, DOCUMENT_TYPE])),
        ("xml_envelope", texts(XML_BODIES)),
        ("xml_wsdl", texts(&[xml::WSDL])),
        ("xml_stylesheet", texts(&[xml::TO_ADD])),
        ("xml_gzip", vec![member(xml::ENVELOPE.as_bytes(), 6)]),
        ("import_kong", texts(&[KONG, KONG_OLD])),
        ("import_apisix", texts(&[APISIX])),
        ("import_kubernetes", texts(&[KUBERNETES])),
        ("import_openapi", texts(&[OPENAPI])),
        ("import_har", texts(&[HAR])),
        ("import_k6", texts(&[K6, K6_INSPECT])),
        ("import_access_log", logs()),
        ("import_own_config", texts(&[NGINX, HAPROXY, ENVOY, KONG, APISIX])),
    ]
}

macro_rules! import_input {
    ($name:literal) => {
        include_str!(concat!("../../crates/import/tests/inputs/", $name))
    };
}

const KONG: &str = import_input!("kong-shop.yml");
const KONG_OLD: &str = import_input!("kong-old.yml");
const APISIX: &str = import_input!("apisix-shop.yaml");
const KUBERNETES: &str = import_input!("kubernetes-shop.yaml");
const OPENAPI: &str = import_input!("openapi-pets.yaml");
const HAR: &str = import_input!("har-visit.json");
const K6: &str = import_input!("k6-checkout.js");
const K6_INSPECT: &str = import_input!("k6-inspect.json");
const NGINX: &str = import_input!("own-nginx.conf");
const HAPROXY: &str = import_input!("own-haproxy.cfg");
const ENVOY: &str = import_input!("own-envoy.yaml");

/// A line in each access log format; the first line is also compressed.
fn logs() -> Vec<Vec<u8>> {
    let mut logs = texts(LOG_LINES);
    logs.push(member(LOG_LINES[0].as_bytes(), 6));
    logs
}

const LOG_LINES: &[&str] = &[
    "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a/17?b=c HTTP/1.1\" 200 2326 \"-\" \"curl\"\n",
    "haproxy[1]: 192.0.2.1:33317 [10/Oct/2000:13:55:36.655] in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 \"GET /a HTTP/1.1\"\n",
    "[2000-10-10T13:55:36.310Z] \"POST /a HTTP/2\" 204 - 154 0 226 100 \"192.0.2.1\" \"ua\" \"id\" \"h\" \"10.0.2.1:80\"\n",
    "{\"started_at\": 971186136655, \"request\": {\"method\": \"PUT\", \"uri\": \"/\\u0061\", \"size\": 9}, \"response\": {\"status\": 201}}\n",
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|it| it.as_bytes().to_vec()).collect()
}

const TARGETS: &[&str] = &[
    "/admin/a?b=/../",
    "//v/%61dmin;a=b/..;/c",
    "http://h:1/v/..%2f%5cadmin%00",
    "/v/%2561/./a.%20/%C3%A9#",
];

const DOCUMENT_TYPE: &str = "<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE a [<!ENTITY b 'c'><!ENTITY d SYSTEM 'e'>\
<!ELEMENT a ANY><!ATTLIST a f CDATA 'g'>]><a xmlns:h='i'>&b;<![CDATA[<j>]]><!-- k --><?l m?><h:n h:o='p'/></a>";

const XML_BODIES: &[&str] = &[
    "<s:Header><a s:mustUnderstand='1'/></s:Header><s:Body><Add xmlns='http://tempuri.org/'><intA>5</intA><intB>7</intB></Add></s:Body>",
    "<s:Body><Subtract xmlns='http://tempuri.org/'><intA>5</intA><intB>x</intB></Subtract></s:Body>",
    "<s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>b</faultstring></s:Fault></s:Body>",
];

/// Returns each input several times, each time after different [`Directions`](cuts::Directions).
fn directed(inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let starts: [[u8; cuts::BYTES]; 5] = [
        [0, 255, 255, 255, 255],
        [1, 0, 0, 0, 0],
        [2, 6, 1, 30, 2],
        [5, 8, 12, 0, 40],
        [7, 60, 3, 3, 9],
    ];
    let each = |input: &&[u8]| starts.map(|start| [&start[..], input].concat());
    inputs.iter().flat_map(each).collect()
}

const RESPONSES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1f;x=\"y\"\r\n0123456789012345678901234567890\r\n0\r\nT: 1\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3, 3\r\n\r\nabc",
    b"HTTP/1.1 200\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
];

const POLICIES: &[&str] = &[
    "GET /key HTTP/1.1\r\nHost: h\r\nX-Api-Key: alice-key\r\n\r\n",
    "GET /query?a=b&key=alice%2dkey HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /basic HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YWxpY2U6c2VjcmV0\r\n\r\n",
    "GET /jwt HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.cK2FPsq3Pop9aCm5uFmtpbmzBPMt1lcRyvPDYaxPi0Y\r\n\r\n",
    "POST /json HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{\"b\": [1], \"c\": {\"e\": null}}",
    "POST /contract/1,2?filter[a]=1.5&list=true,false HTTP/1.1\r\nHost: h\r\nCookie: session=aaa\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{\"a\": \"2020-02-02\"}",
    "POST /contract/1 HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=1&a=%32",
];

const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.cK2FPsq3Pop9aCm5uFmtpbmzBPMt1lcRyvPDYaxPi0Y";

const BODIES: &[&str] = &[
    r#"{"b": [1], "c": {"e": null}, "e": {"f": 1}, "a": "\u00e9\n"}"#,
    r#"[1, -2.5e+3, true, false, null, "", {}, []]"#,
    r#"{"a":0,"a":1,"b":2,"b":3,"c":4,"c":5}"#,
];

const CONTRACTS: &[&str] = &[
    "1,2\nfilter[a]=1.5&list=true,false\nsession=aaa\n{\"a\": \"2020-02-02\"}",
    "1\n\n\na=1&a=%32",
];

const DOCUMENTS: &[&str] = &[
    "openapi: 3.1.0\ninfo: {title: t, version: v}\npaths:\n  /a/{b}:\n    parameters: [{$ref: '#/components/parameters/b'}]\n    get: {responses: {default: {description: d}}}\ncomponents:\n  parameters:\n    b: {name: b, in: path, required: true, schema: {$ref: '#/components/schemas/c'}}\n  schemas:\n    c: {type: [string, 'null'], pattern: '^(a+)+$'}\n",
    r#"{"openapi": "3.0.3", "info": {"title": "t", "version": "v"}, "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": {"type": "object", "nullable": true, "additionalProperties": {"type": "integer"}}}}}, "responses": {"200": {"description": "d", "headers": {"X": {"schema": {"type": "string"}}}}}}}}}"#,
];

const REQUESTS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
    b"POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
    b"PUT * HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
    b"GET http://a/ HTTP/2.0\r\nX: \xff \r\n folded\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
];

const CHUNKED: &[&[u8]] = &[
    b"3\r\nabc\r\n0\r\n\r\n",
    b"0000000000000003;name=value;flag\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
    b"ffffffffffffffff\r\na",
    b"10000000000000000\r\n",
    b"1\r\nab\r\n",
    b"1\nx\n0\n\n",
    b"1 \r\nx\r\n+1\r\nx\r\n0x1\r\n",
];

/// The first two requests of RFC 7541 C.4, and three changes of the size of the dynamic table.
const RFC_7541_C_4: &[u8] = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff\
\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf\x20\x20\x3f\xe1\x1f";

fn block() -> Vec<u8> {
    let mut block = Block::request("POST", "https", "example.test", "/path?q");
    block.field("content-type", b"application/json");
    block.field("x-own", b"\xf0\x9f\x90\x8d 1");
    let mut client = Client::new(Settings::default(), Limits::default());
    let mut frames = Vec::new();
    client.request(&block, b"", &mut frames);
    frames.split_off(9.min(frames.len()))
}

/// The bytes that a client and a server send in three rounds of a request and a response.
fn conversation() -> (Vec<u8>, Vec<u8>) {
    let mut client = Client::new(Settings::default(), Limits::default());
    let mut server = Server::new(Settings::default(), Limits::default());
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    client.preface(&mut asked);
    server.preface(&mut answered);
    let (mut read_by_server, mut read_by_client) = (0, 0);
    for round in 0..3_u8 {
        let mut block = Block::request("POST", "http", "host", "/path");
        block.field("round", &[b'0' + round; 9]);
        client.request(&block, b"question", &mut asked);
        let mut streams = Vec::new();
        let from = asked.clone();
        let mut input = &from[read_by_server..];
        while let Ok(Some(event)) = server.next(&mut input, &mut answered) {
            if let gatebench_net::http2::Event::End { stream } = event {
                streams.push(stream);
            }
        }
        read_by_server = from.len();
        for stream in streams {
            let mut block = Block::response(200);
            block.field("content-length", b"6");
            server.respond(stream, &block, b"answer", true, &mut answered);
        }
        let from = answered.clone();
        let mut input = &from[read_by_client..];
        while let Ok(Some(_)) = client.next(&mut input, &mut asked) {}
        read_by_client = from.len();
    }
    (asked, answered)
}

fn member(plain: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    // Writing to memory does not fail.
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

/// Bodies of one or several gzip members, stored or deflated. Each body is preceded by the number
/// of decoded bytes to keep.
fn gzipped() -> Vec<Vec<u8>> {
    let text = member(
        b"{\"a\": [1, 2, 3], \"b\": \"a text that repeats a text\"}",
        9,
    );
    let stored = member(b"stored", 0);
    let zeros = member(&[0; 100_000], 6);
    let several = [&text[..], &stored, &zeros, b"and what is no member"].concat();
    let bodies = [text, stored, zeros, several];
    bodies
        .iter()
        .map(|body| [&[20, 0], &body[..]].concat())
        .collect()
}

const FILES: &[&str] = &[
    include_str!("../../scenarios/policy/api-key.yaml"),
    include_str!("../../scenarios/scale/routes.yaml"),
    include_str!("../../scenarios/proxy/echo.yaml"),
    include_str!("../../scenarios/load/tour.yaml"),
    include_str!("../../scenarios/load/spike.yaml"),
    include_str!("../../scenarios/load/sweep.yaml"),
    include_str!("../../scenarios/fault/good-and-failing.yaml"),
    include_str!("../../crates/model/tests/mistakes/scenario-data.yaml"),
    include_str!("../../crates/model/tests/mistakes/gateway-folder.yaml"),
];

const TEMPLATES: &[&str] = &[
    "/users/{{ user.id }}?page={{page}}",
    "{{ \"{{\" }} and {{ '}}' }}",
    "{\"a\": {\"b\": {{ number }}}}",
    "{{ }}{{a.b.c}}{{ \"",
];

const TRACES: &[&str] = &[
    "beef07123456789a",
    "BEEF07123456789A",
    "0001020000000003-00000000deadbeef-ffffffffffffffff",
    "0001020000000003-00000000deadbeef-fffffffffffffff",
];
