use std::collections::BTreeMap;
use std::sync::Arc;

use gatebench_model::Body;
use gatebench_net::http1::{BodyLength, write_request_head};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn data() -> Arc<DataSet> {
    let sources: BTreeMap<_, _> = serde_json::from_value(json!({
        "id": {"sequence": {"from": 5}},
        "users": {"list": {"columns": ["name", "mail"], "values": [["ada", "a@x"], ["bob", ""]]}},
        "city": {"list": {"values": ["Rome", "Oslo", "Linz"]}},
    }))
    .unwrap();
    Arc::new(DataSet::new(&sources).unwrap())
}

fn sampler() -> Sampler {
    Sampler::new(data(), 1, 0, 1)
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    Request {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        body: (!body.is_empty()).then(|| Body::new(body)),
        ..Request::new(method, path)
    }
}

/// Renders `count` successive requests into one reused buffer, and returns the bytes of each.
fn sent(request: &Request, traced: bool, count: u64) -> Vec<String> {
    let rendered = Rendered::new(request, "h:1", traced, &data()).unwrap();
    let (mut sampler, mut buffer) = (sampler(), Vec::new());
    let next = |number: u64| {
        rendered.fill(&mut buffer, number > 0, Nonce(number), &mut sampler);
        String::from_utf8(buffer.clone()).unwrap()
    };
    (0..count).map(next).collect()
}

/// Renders a request by replacing the placeholders in its text with value `number` of every source.
fn naive(request: &Request, traced: bool, number: usize) -> String {
    let user = [("ada", "a@x"), ("bob", "")][number % 2];
    let fill = |text: &str| {
        text.replace("{{ id }}", &(5 + number).to_string())
            .replace("{{users.name}}", user.0)
            .replace("{{ users.mail }}", user.1)
            .replace("{{city}}", ["Rome", "Oslo", "Linz"][number % 3])
            .replace("{{ \"{{\" }}", "{{")
    };
    let hex = Nonce(number as u64).to_hex();
    let values: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name, fill(value)))
        .collect();
    let mut fields: Vec<(&str, &[u8])> = vec![("Host", b"h:1")];
    if traced {
        fields.push((NONCE_HEADER, &hex));
    }
    fields.extend(
        values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let template = request.body.as_ref().and_then(Body::text);
    let body = template.map(fill).unwrap_or_default();
    let framed = template.is_some() || ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
    let length = if framed {
        BodyLength::Length(body.len() as u64)
    } else {
        BodyLength::None
    };
    let mut bytes = Vec::new();
    write_request_head(
        &mut bytes,
        &request.method,
        &fill(&request.path),
        fields,
        length,
    );
    bytes.extend_from_slice(body.as_bytes());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_constant_request_differs_only_in_its_nonce() {
    let request = request("GET", "/a?b", &[("X-A", "1")], "");
    let text = |nonce| {
        format!("GET /a?b HTTP/1.1\r\nHost: h:1\r\ngatebench-nonce: {nonce}\r\nX-A: 1\r\n\r\n")
    };
    let expected = ["0000000000000000", "0000000000000001"].map(text);
    assert_eq!(sent(&request, true, 2), expected);
    assert_eq!(sent(&request, false, 1), [naive(&request, false, 0)]);
}

#[test]
fn values_of_one_request_come_from_one_row() {
    let request = request(
        "POST",
        "/{{ id }}/{{ id }}",
        &[("X-User", "{{users.name}}")],
        "{{users.name}}={{ users.mail }}",
    );
    let expected = [("/5/5", "ada=a@x"), ("/6/6", "bob="), ("/7/7", "ada=a@x")];
    for (text, (path, body)) in sent(&request, false, 3).iter().zip(expected) {
        assert_eq!(text.split(' ').nth(1), Some(path));
        assert_eq!(text.split("\r\n\r\n").nth(1), Some(body));
    }
}

#[test]
fn rendering_again_allocates_nothing() {
    let request = request(
        "POST",
        "/{{ id }}",
        &[("X-City", "{{city}}")],
        "{{users.name}} {{city}}",
    );
    let rendered = Rendered::new(&request, "h:1", true, &data()).unwrap();
    let (mut sampler, mut buffer) = (sampler(), Vec::new());
    let mut places = Vec::new();
    for number in 0..100 {
        rendered.fill(&mut buffer, true, Nonce(number), &mut sampler);
        places.push((buffer.as_ptr(), buffer.capacity(), sampler.scratch.as_ptr()));
    }
    assert!(places[10..].iter().all(|place| *place == places[10]));
}

#[test]
fn http2_gets_the_parts_of_a_request() {
    let request = request("GET", "/{{ id }}", &[("X-City", "{{city}}")], "");
    let rendered = Rendered::new(&request, "h:1", true, &data()).unwrap();
    let mut sampler = sampler();
    rendered.draw(&mut sampler);
    let parts = &rendered.parts;
    let written = |text: &Text| {
        let mut out = Vec::new();
        text.write(&sampler, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(parts.method, "GET");
    assert_eq!(parts.authority, "h:1");
    assert_eq!(written(&parts.path), "/5");
    assert_eq!(written(&parts.fields[0].1), "Rome");
    assert!(!parts.says_length && parts.body.constant() == Some(b""));
}

#[test]
fn missing_columns_and_values_that_break_a_head_are_refused() {
    let error = |request: &Request, data: &DataSet| {
        Rendered::new(request, "h", false, data)
            .unwrap_err()
            .to_string()
    };
    let data = data();
    assert!(error(&Request::new("GET", "/{{ nobody }}"), &data).contains("'nobody'"));
    assert!(error(&Request::new("GET", "/{{ users }}"), &data).contains("name, mail"));
    assert!(error(&Request::new("GET", "/{{ users.id }}"), &data).contains("name, mail"));
    let sources = json!({"bad": {"list": {"values": ["ok", "a b", "x\r\ny: z"]}}});
    let bad = DataSet::new(&serde_json::from_value(sources).unwrap()).unwrap();
    assert!(error(&Request::new("GET", "/{{ bad }}"), &bad).contains("the path"));
    assert!(error(&request("GET", "/", &[("X", "{{bad}}")], ""), &bad).contains("a header"));
    assert!(Rendered::new(&request("POST", "/", &[], "{{bad}}"), "h", false, &bad).is_ok());
}

#[test]
fn bytes_that_are_not_text_are_sent_unchanged() {
    let body = [b"{{ ".as_slice(), &[0xff, 0]].concat();
    let request = Request {
        body: Some(Body::new(body.clone())),
        ..Request::new("POST", "/")
    };
    let rendered = Rendered::new(&request, "h", false, &data()).unwrap();
    let mut buffer = Vec::new();
    rendered.fill(&mut buffer, false, Nonce(0), &mut sampler());
    assert!(buffer.ends_with(&body));
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ id }}".to_owned()),
        Just("{{users.name}}".to_owned()),
        Just("{{ users.mail }}".to_owned()),
        Just("{{city}}".to_owned()),
        Just("{{ \"{{\" }}".to_owned()),
        "[a-z/=&}]{1,6}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn rendering_equals_text_replacement(
        path in any_text(),
        headers in prop::collection::btree_map("X-[A-Z]{1,3}", any_text(), 0..3),
        body in prop::option::of(any_text().prop_filter("a body", |text| !text.is_empty())),
        method in prop_oneof![Just("GET"), Just("POST"), Just("HEAD")],
        traced in any::<bool>(),
    ) {
        let request = Request {
            headers,
            body: body.map(Body::new),
            ..Request::new(method, format!("/{path}"))
        };
        // Each request draws from all of its sources, so request n gets value n of each.
        for (number, text) in sent(&request, traced, 7).into_iter().enumerate() {
            prop_assert_eq!(text, naive(&request, traced, number));
        }
    }
}

#[test]
fn a_sample_is_the_first_request_that_a_load_sends() {
    let mut wanted = request(
        "POST",
        "/{{ id }}?c={{city}}",
        &[
            ("Host", "shop.test"),
            ("X-User", "{{users.name}} {{ \"{{\" }}"),
        ],
        "{\"mail\": \"{{ users.mail }}\"}",
    );
    wanted.name = Some("order".into());
    let found = sample(&wanted, &data()).unwrap();
    assert_eq!(found.path, "/5?c=Rome");
    assert_eq!(found.method, "POST");
    assert_eq!(found.headers["X-User"], "ada {{");
    assert_eq!(found.host(), Some("shop.test"));
    assert_eq!(found.body, Some(Body::new("{\"mail\": \"a@x\"}")));
    assert_eq!(found.label(), "order");
    let unknown = request("GET", "/{{ nobody }}", &[], "");
    assert!(matches!(
        sample(&unknown, &data()),
        Err(DataError::NoSource { .. })
    ));
}
