//! Tests the parsing of the load in a user's k6 script.

use std::time::Duration;

use gatebench_external::{Execution, has_own_load, read_execution};

#[test]
fn durations_are_read_as_go_writes_them() {
    let takes = |duration: &str| {
        let options = format!(r#"{{"totalDuration": "{duration}", "maxVUs": 1}}"#);
        read_execution(&options).ok().map(|it| it.takes)
    };
    assert_eq!(takes("3s"), Some(Duration::from_secs(3)));
    assert_eq!(takes("1h0m0.5s"), Some(Duration::from_millis(3_600_500)));
    assert_eq!(takes("1m30s"), Some(Duration::from_secs(90)));
    assert_eq!(takes("300ms"), Some(Duration::from_millis(300)));
    for wrong in ["", "s", "3", "3x", "1.2.3s"] {
        assert_eq!(takes(wrong), None, "{wrong}");
    }
}

#[test]
fn a_script_may_or_may_not_define_a_load() {
    let none = r#"{"vus": null, "scenarios": null, "maxRedirects": 3}"#;
    assert_eq!(has_own_load(none), Ok(false));
    let own = r#"level=warning msg=x {"scenarios": {"a": {}}, "vus": null}"#;
    assert_eq!(has_own_load(own), Ok(true));
    let filled = r#"{"scenarios": {"a": {}}, "totalDuration": "10m30s", "maxVUs": 3}"#;
    let execution = Execution {
        users_max: 3,
        takes: Duration::from_secs(630),
    };
    assert_eq!(read_execution(filled), Ok(execution));
    assert!(read_execution("{}").is_err());
    for wrong in ["", "no", "}{", "{"] {
        assert!(has_own_load(wrong).is_err(), "{wrong}");
    }
}
