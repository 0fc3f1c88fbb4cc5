use super::*;

fn target(word: &str, variables: &[(&str, &str)]) -> Result<Target, TargetError> {
    let value = |name: &str| {
        let mut all = variables.iter();
        let found = all.find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Target::parse(word, &value)
}

fn endpoint(target: &Target) -> &Endpoint {
    match &target.place {
        Place::Server(endpoint) => endpoint,
        Place::File(path) => panic!("{}", path.display()),
    }
}

#[test]
fn variables_of_k6_apply() {
    let variables = [
        (
            "K6_PROMETHEUS_RW_SERVER_URL",
            "http://u:secret@p:9090/write",
        ),
        ("K6_PROMETHEUS_RW_TREND_STATS", "p(95),max"),
        ("K6_PROMETHEUS_RW_PUSH_INTERVAL", "5s"),
        ("K6_PROMETHEUS_RW_STALE_MARKERS", "false"),
    ];
    let target = target("prometheus=", &variables).unwrap();
    assert_eq!(target.to_string(), "prometheus=http://p:9090/write");
    assert_eq!(target.push_every, Duration::from_secs(5));
    let stats = vec![Stat::Percentile(95.0), Stat::Max];
    let format = Format::RemoteWrite {
        stats,
        native: None,
        stale_markers: false,
    };
    assert_eq!(target.format, format);
    assert!(endpoint(&target).headers.contains(&basic("u", "secret")));
    assert!(!format!("{target:?}").contains("secret"));
}

#[test]
fn parameters_that_are_not_ours_stay_in_the_url() {
    let word = "prometheus=http://vm:8428/api/v1/write?extra_label=a%3Db&schema=5";
    let target = target(word, &[]).unwrap();
    let url = "prometheus=http://vm:8428/api/v1/write?extra_label=a%3Db";
    assert_eq!(target.to_string(), url);
    assert!(matches!(
        target.format,
        Format::RemoteWrite {
            native: Some(5),
            ..
        }
    ));
}

#[test]
fn a_bucket_selects_version_2_of_influxdb() {
    let v1 = target("influxdb=http://h/k6", &[("K6_INFLUXDB_USERNAME", "u")]).unwrap();
    assert_eq!(
        v1.to_string(),
        "influxdb=http://h:8086/write?db=k6&precision=ns"
    );
    let first = endpoint(&v1).first.as_deref();
    assert_eq!(first, Some("/query?q=CREATE%20DATABASE%20%22k6%22"));
    let word = "influxdb=http://h:1/?bucket=b&org=o";
    let v2 = target(word, &[("K6_INFLUXDB_TOKEN", "t")]).unwrap();
    let url = "influxdb=http://h:1/api/v2/write?bucket=b&org=o&precision=ns";
    assert_eq!(v2.to_string(), url);
    let token = ("Authorization".to_owned(), "Token t".to_owned());
    assert_eq!(endpoint(&v2).headers, [token]);
}

#[test]
fn a_collector_url_without_a_path_gets_the_usual_path() {
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic x, a=b")];
    let target = target("otlp=http://127.0.0.1:4318", &variables).unwrap();
    assert_eq!(target.to_string(), "otlp=http://127.0.0.1:4318/v1/metrics");
    let header = ("authorization".to_owned(), "Basic x".to_owned());
    assert!(endpoint(&target).headers.contains(&header));
}

#[test]
fn variables_of_opentelemetry_apply() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://h/otlp/");
    let complete = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://h/mine");
    for (word, variables, url) in [
        ("", vec![], "http://localhost:4318/v1/metrics"),
        ("", vec![(base.0, "")], "http://localhost:4318/v1/metrics"),
        ("", vec![base], "https://h:443/otlp/v1/metrics"),
        ("", vec![base, complete], "https://h:443/mine"),
        ("http://h:1/x", vec![base, complete], "http://h:1/x"),
    ] {
        let target = target(&format!("otlp={word}"), &variables).unwrap();
        assert_eq!(target.to_string(), format!("otlp={url}"));
    }
}

#[test]
fn headers_of_opentelemetry_are_percent_decoded_and_those_for_metrics_replace_the_others() {
    let list = "authorization=Basic%20eA%3D%3D,, a=b,";
    let all = ("OTEL_EXPORTER_OTLP_HEADERS", list);
    let metrics = ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "c=d");
    let both = [("authorization", "Basic eA=="), ("a", "b")];
    for (variables, expected) in [
        (vec![all], &both[..]),
        (vec![all, metrics], &[("c", "d")]),
        (vec![all, (metrics.0, "")], &both),
    ] {
        let target = target("otlp=", &variables).unwrap();
        let headers = &endpoint(&target).headers[1..];
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(headers, expected);
    }
}

#[test]
fn mistakes_are_reported_without_secrets() {
    let error = |word: &str, variables: &[(&str, &str)]| target(word, variables).unwrap_err();
    assert_eq!(error("statsd=h:1", &[]), TargetError::Kind("statsd".into()));
    assert_eq!(error("otlp", &[]), TargetError::Empty(Kind::Otlp));
    assert_eq!(
        error("prometheus=h:9090", &[]),
        TargetError::Url("h:9090".into())
    );
    for with_secret in [
        "http://u:p@h/k6",
        "http://h/k6?u=u&p=x",
        "http://h/?Token=x",
    ] {
        let secret = error(&format!("influxdb={with_secret}"), &[]);
        assert!(secret.remedy().contains("K6_INFLUXDB_PASSWORD"));
    }
    assert_eq!(
        error("otlp=http://u:p@h:99999/?token=x", &[]),
        TargetError::Url("...@h:99999/?...".into())
    );
    assert_eq!(
        error("influxdb=http://h", &[]),
        TargetError::Empty(Kind::Influxdb)
    );
    assert_eq!(error("jsonl=", &[]), TargetError::Empty(Kind::JsonLines));
    for wrong in ["native=1", "schema=9", "duration=x"] {
        let word = format!("prometheus=http://h/?{wrong}");
        assert!(
            matches!(error(&word, &[]), TargetError::Setting { .. }),
            "{wrong}"
        );
    }
    let variables = [("K6_PROMETHEUS_RW_TREND_STATS", "p99")];
    let text = error("prometheus=http://h/", &variables).to_string();
    assert_eq!(
        text,
        "K6_PROMETHEUS_RW_TREND_STATS has the invalid value 'p99'"
    );
}
