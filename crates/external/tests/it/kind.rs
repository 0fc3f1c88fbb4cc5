//! Tests the names and versions of the load generators.

use gatebench_external::Generator;

#[test]
fn versions_are_found_in_each_output() {
    let wrk = "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer";
    assert_eq!(
        Generator::Wrk.version_in(wrk).as_deref(),
        Some("4.1.0-3+b2")
    );
    let h2load = "h2load nghttp2/1.52.0";
    assert_eq!(
        Generator::H2load.version_in(h2load).as_deref(),
        Some("1.52.0")
    );
    let k6 = "k6 v1.8.1 (go1.26.8, linux/amd64)\nExtensions:";
    assert_eq!(Generator::K6.version_in(k6).as_deref(), Some("1.8.1"));
    assert_eq!(Generator::K6.version_in("k9 v1.8.1"), None);
    assert_eq!(Generator::Wrk.version_in(""), None);
}

#[test]
fn names_are_parsed_back() {
    for generator in Generator::ALL {
        assert_eq!(generator.as_str().parse(), Ok(generator));
    }
    assert!("wrk2".parse::<Generator>().is_err());
}
