//! Tests which route a target selects, which path is forwarded, and which spellings of a path are
//! refused.

use gatebench_gateway::Paths;
use gatebench_gateway::fuzzing::Routes;

fn router(routes: &[(&str, Paths)]) -> Routes {
    Routes::new(routes)
}

fn strict() -> Routes {
    router(&[("/", Paths::Strict), ("/admin", Paths::Strict)])
}

#[test]
fn a_long_plain_path_is_accepted_next_to_a_prefix_with_several_readings() {
    let router = router(&[("/", Paths::Strict), ("/caf%C3%A9", Paths::Strict)]);
    let long = format!("/{}", "a".repeat(5_000));
    assert_eq!(router.find(&long), Some((Some(0), long.clone())));
    assert_eq!(router.find("/caf%C3%A9").unwrap().0, Some(1));
}

#[test]
fn paths_that_only_some_servers_decode_reach_no_other_route() {
    let router = router(&[("/", Paths::Verbatim), ("/admin", Paths::Strict)]);
    for target in [
        "/%u0061dmin",
        "/x/..%FC%80%80%80%80%AFadmin",
        "/x/..%F8%80%80%80%AFadmin",
    ] {
        assert_eq!(router.find(target), None, "{target}");
    }
    assert_eq!(router.find("/user").unwrap().0, Some(0));
}

#[test]
fn an_authority_is_a_host() {
    for (target, expected) in [
        ("/a", true),
        ("http://h/", true),
        ("http://[::1]:80/", true),
        ("http://h", true),
        ("http:///a", false),
        ("http://:80/a", false),
        ("http://user@h/a", false),
        ("http://u:p@h/a", false),
        ("http://h\\@g/a", false),
        ("http://h\"/a", false),
        ("http://h#g/a", false),
        ("http://\u{e4}/a", false),
        ("http://a:b:c/", false),
        ("http://a,b/", false),
        ("http://x%00y/", false),
        ("http://[::1/", false),
    ] {
        assert_eq!(strict().find(target).is_some(), expected, "{target}");
    }
}

#[test]
fn equivalent_paths_are_forwarded_in_normal_form() {
    for (target, route, rest) in [
        ("/%61dmin?x=%61", 1, "/admin?x=%61"),
        ("/admin/%7euser", 1, "/admin/~user"),
        ("http://h/%61dmin", 1, "/admin"),
        ("/caf%c3%a9", 0, "/caf%C3%A9"),
        ("/a%20b", 0, "/a%20b"),
        ("/.well-known/a..b/..c", 0, "/.well-known/a..b/..c"),
        ("/a;x=1/b", 0, "/a;x=1/b"),
        ("/admin/b;x=1", 1, "/admin/b;x=1"),
        ("/100%25", 0, "/100%25"),
        ("/a?b=[c]&d=/../&e=//;%zz", 0, "/a?b=[c]&d=/../&e=//;%zz"),
        ("/Admin", 0, "/Admin"),
    ] {
        let expected = Some((Some(route), rest.to_owned()));
        assert_eq!(strict().find(target), expected, "{target}");
    }
}

#[test]
fn a_strict_route_accepts_only_unambiguous_paths() {
    for target in [
        "//admin",
        "/admin//a",
        "/./admin",
        "/x/../admin",
        "/admin/..",
        "/x/%2e%2E/admin",
        "/x/..;/admin",
        "/x/..;a=b/admin",
        "/;/admin",
        "/;x=1/admin",
        "/admin;x=1",
        "/admin;x=1/b",
        "/admin%3bx=1",
        "/admin%2Fx",
        "/x%5cadmin",
        "/admin%00",
        "/a%1f",
        "/a%7F",
        "/a%",
        "/a%6",
        "/a%zz",
        "/%2561dmin",
        "/x%252F..%25252Fadmin",
        "/x/%252e%252e/admin",
        "/admin.",
        "/admin%20",
        "/admin%20%2E/x",
        "/admin%3Fx",
        "/admin%23",
        "/x%c0%af..%c0%afadmin",
        "/a#b",
        "/a?b#c",
        "/a\\b",
        "/a\"b",
        "/a<b>",
        "/a{b}",
        "/a|b",
        "/a^b",
        "/a`b",
        "/a[b]",
        "/\u{e4}",
        "/a?\u{e4}",
        "/a?{b}",
        "/a?b|c",
        "http://h//admin",
        "http://h/x/../admin",
        "HTTP://h/admin;x",
    ] {
        assert_eq!(strict().find(target), None, "{target}");
    }
    let long = format!("/{}", "a;".repeat(5000));
    assert_eq!(strict().find(&long), None, "the path has too many readings");
}

#[test]
fn a_verbatim_route_accepts_any_path_within_it() {
    let router = router(&[
        ("/", Paths::Verbatim),
        ("/admin", Paths::Strict),
        ("/files", Paths::Verbatim),
        ("/files/strict", Paths::Strict),
    ]);
    for (target, route) in [
        ("/a//b", 0),
        ("/a/../b/%2e/%2F%5C%00", 0),
        ("/%zz", 0),
        ("/%61", 0),
        ("/files/a%2Fb", 2),
        ("/files/a/../b%5cc;d", 2),
        ("/files/../files/a", 2),
    ] {
        let expected = Some((Some(route), target.to_owned()));
        assert_eq!(router.find(target), expected, "{target}");
    }
    for target in [
        "//admin",
        "/x/..%2fadmin",
        "/%61dmin",
        "/%2561dmin",
        "/;x/admin",
        "/admin.",
        "/admin%00.png",
        "/files/..%2fadmin",
        "/files/%2e%2e/a",
        "/files%2Fa",
        "/files/a/..%2f..%2fx",
        "/files/strict%2Fa",
        "/a/..\\admin",
        "/admin#x",
        "/x%c0%afadmin",
        // The path leaves the route and returns to it.
        "/v/../admin/x%2F..%2F..%2Fv",
        "/v/../admin/x%5C..%5C..%5Cv",
        // The path stays within the route for servers that decode without resolving, or that
        // resolve before they decode a slash.
        "/a%64min/..%2fa.b",
        "/admin%2F..%2Fa",
        "/v/../admin%2F..%2Fa",
    ] {
        assert_eq!(router.find(target), None, "{target}");
    }
}

#[test]
fn a_strict_route_within_a_verbatim_one_accepts_only_the_normal_form() {
    let router = router(&[("/", Paths::Verbatim), ("/admin", Paths::Strict)]);
    let expected = Some((Some(1), "/admin/a".to_owned()));
    assert_eq!(router.find("/admin/a"), expected);
    assert_eq!(router.find("/admin/%61"), expected);
    // Before decoding, this path belongs to the verbatim route.
    assert_eq!(router.find("/%61dmin/a"), None);
    assert_eq!(router.find("/admin//a"), None);
    assert_eq!(router.find("/admin/../b"), None);
}

#[test]
fn an_ambiguous_prefix_matches_as_written() {
    let router = router(&[
        ("/a%2Fb", Paths::Verbatim),
        ("/v1.", Paths::Strict),
        ("/caf%C3%A9", Paths::Strict),
    ]);
    for (target, route) in [("/a%2Fb/c", 0), ("/v1./c", 1), ("/caf%c3%a9/c;d", 2)] {
        let found = router.find(target).unwrap();
        assert_eq!(found.0, Some(route), "{target}");
    }
    assert_eq!(router.find("/a/b"), Some((None, "/a/b".into())));
}

#[test]
fn other_spellings_of_a_prefix_are_refused() {
    let router_of = |prefix| router(&[("/", Paths::Strict), (prefix, Paths::Strict)]);
    let plain = router_of("/a:b");
    assert_eq!(plain.find("/a:b/c"), Some((Some(1), "/a:b/c".into())));
    assert_eq!(plain.find("/a%3Ab/c"), None);
    assert_eq!(plain.find("/x%3Ab"), Some((Some(0), "/x%3Ab".into())));
    let encoded = router_of("/a%3Ab");
    let expected = Some((Some(1), "/a%3Ab/c".to_owned()));
    assert_eq!(encoded.find("/a%3ab/c"), expected);
    assert_eq!(encoded.find("/a:b/c"), None);
    assert_eq!(encoded.find("/a:c"), Some((Some(0), "/a:c".into())));
}

#[test]
fn no_spelling_of_an_invalid_path_is_a_path() {
    for target in ["*", "a", "h:80", "https://h/a", "?a", ""] {
        let route = strict().find(target).map(|(route, _)| route);
        assert_eq!(route, Some(None), "{target}");
    }
    for target in ["a//b", "a/../b", "..", "%2fadmin", "*/../admin"] {
        let route = strict().find(target).map(|(route, _)| route);
        assert!(matches!(route, None | Some(None)), "{target}");
    }
}
