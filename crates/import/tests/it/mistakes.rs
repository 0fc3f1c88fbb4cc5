//! Tests invalid input. All mistakes in a document are reported at once, each with its line and its
//! remedy, and input of another kind is refused.

use gatebench_import::{ImportError, Options, TextKind, import};

fn mistakes(kind: TextKind, text: &str) -> Vec<String> {
    match import(kind, text, &Options::new("x", "x")) {
        Err(ImportError::Mistakes(mistakes)) => {
            mistakes.all().iter().map(ToString::to_string).collect()
        }
        Err(error) => vec![format!("{error}; {}", error.remedy())],
        Ok(folder) => panic!("{:?}", folder.files),
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let text = "_format_version: '9.0'\nservices:\n  - name: a\n    routes: 7\n    plugins:\n      - config: {}\nconsumers: {a: b}\n";
    assert_eq!(
        mistakes(TextKind::Kong, text),
        [
            "x:1:1: unknown format version 9.0; convert the file to 3.0 with `deck file convert`",
            "x:3:5: the service has neither `url` nor `host`; add `url: http://HOST:PORT/PATH`",
            "x:4:13: `routes` of the service is not a list; begin each item with `- `",
            "x:6:9: the plug-in has no `name`; add `name: VALUE`",
            "x:7:13: `consumers` of the file is not a list; begin each item with `- `",
        ]
    );
    let text = "_format_version: '3.0'\nservices:\n  - {url: http://a, routes: [{paths: [/a]}]}\nconsumers:\n  - username: a\n    basicauth_credentials: [{username: $USER, password: b}]\n";
    assert_eq!(
        mistakes(TextKind::Kong, text),
        [
            "x:6:30: `$USER` is not a valid user name for a client; use only letters, digits and . _ @ + -; \
             replace placeholders such as $USER before the import",
        ]
    );
    let text = "routes:\n  - {id: 1}\n  - {uri: [1]}\nconsumers: [{}]\n";
    assert_eq!(
        mistakes(TextKind::Apisix, text),
        [
            "x:2:6: the route has neither `uri` nor `uris`; add `uri: /PATH/*`",
            "x:3:6: the route has neither `uri` nor `uris`; add `uri: /PATH/*`",
            "x:3:11: `uri` of the route is not text; write one value",
            "x:4:13: the consumer has no `username`; add `username: VALUE`",
        ]
    );
    let text = "kind: HTTPRoute\n---\nkind: HTTPRoute\nspec:\n  rules:\n    - matches: [{path: {type: Glob, value: x}}]\n---\nspec: {}\n";
    assert_eq!(
        mistakes(TextKind::Kubernetes, text),
        [
            "x:1:1: the HTTPRoute has no `spec`; add `spec:` with `rules:`",
            "x:6:25: unknown path type Glob; write PathPrefix, Exact or RegularExpression",
            "x:8:1: the resource has no `kind`; add `kind: VALUE`",
        ]
    );
    let text = "swagger: '2.0'\npaths:\n  a: {}\n";
    assert_eq!(
        mistakes(TextKind::Openapi, text),
        [
            "x:1:1: Swagger 2.0 is not supported; convert the document to OpenAPI 3.0",
            "x:3:3: the path `a` does not begin with /; write a path such as /pets/{id}",
        ]
    );
    assert_eq!(
        mistakes(TextKind::Openapi, "openapi: '3.2.0'\npaths: {}\n"),
        ["x:1:1: OpenAPI 3.2.0 is not supported; use an OpenAPI 3.0 or 3.1 document"]
    );
}

#[test]
fn input_of_another_kind_is_refused_with_a_remedy() {
    for (kind, text, expected) in [
        (
            TextKind::Kong,
            "",
            "x:1:1: the file is empty; name another file",
        ),
        (TextKind::Kong, "a: [", "x:1:5: this is not YAML"),
        (
            TextKind::Kong,
            "_format_version: '3.0'\n",
            "x: it has no route; name a file",
        ),
        (
            TextKind::Har,
            "{\n \"log\": 7}",
            "x: line 2, column 9: this is not an HTTP Archive; save it again",
        ),
        (
            TextKind::K6,
            "let x = 1;",
            "x: it has no request that can be read; write",
        ),
        (
            TextKind::K6,
            "{\n",
            "x: line 2: this is neither JSON nor a script",
        ),
        (
            TextKind::Openapi,
            "openapi: 3.0.0\npaths: {}\n",
            "x: it has no operation that can be sent",
        ),
    ] {
        let found = mistakes(kind, text);
        assert!(found[0].starts_with(expected), "{text:?}: {found:?}");
    }
}
