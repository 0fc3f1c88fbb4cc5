//! Tests a user's own configuration in place of the one in the gateway's folder.

use std::fs;
use std::path::Path;

use crate::common::{folder, plain, start};
use gatebench_model::{Blame, Culprit};
use gatebench_testbed::DriverError;
use gatebench_testbed::gateway::{Folder, LocalGateway};

/// An nginx configuration that gatebench did not generate.
const MINE: &str = "worker_processes 1; daemon off; pid nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen {{ listeners[0].address }}:{{ listeners[0].port }};
    add_header X-Mine yes always;
    location / { proxy_pass http://{{ upstreams[0].targets[0].address }}:{{ upstreams[0].targets[0].port }}; }
  }
}
";

fn with_config(at: &Path, text: &str) -> Result<Folder, DriverError> {
    let file = at.join("mine.conf");
    fs::write(&file, text).unwrap();
    folder("nginx").with_config(&file)
}

fn started(at: &Path, text: &str) -> Result<LocalGateway, DriverError> {
    let folder = with_config(at, text)?;
    start(&folder, &plain(), &at.join("work"), &[])
}

#[test]
fn the_users_configuration_is_used_with_the_ports_of_the_trial() {
    let at = tempfile::tempdir().unwrap();
    let gateway = started(at.path(), MINE).unwrap();
    let response = crate::common::ask(gateway.started.address, "/anything", &[]);
    assert_eq!(response.status, 200);
    assert_eq!(crate::common::header(&response.head, "x-mine"), Some("yes"));
    assert!(
        response.body.starts_with("GET /anything"),
        "{}",
        response.body
    );
}

#[test]
fn fixed_ports_are_refused_with_the_placeholder_to_write() {
    let at = tempfile::tempdir().unwrap();
    let fixed = MINE.replace("{{ listeners[0].port }}", "8080");
    let error = started(at.path(), &fixed).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the configuration does not name the port that the load is sent to"
    );
    let remedy = error.remedy();
    assert!(
        remedy.contains("write {{ listeners[0].address }}:{{ listeners[0].port }}"),
        "{remedy}"
    );
    let fixed = MINE.replace("{{ upstreams[0].targets[0].port }}", "9");
    let error = started(at.path(), &fixed).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the configuration does not name the port of the upstream"
    );
    assert_eq!(
        error.culprit(),
        Culprit::File {
            path: at.path().join("mine.conf"),
            line: None
        }
    );
}

#[test]
fn a_mistake_in_the_users_configuration_is_the_users_error() {
    let at = tempfile::tempdir().unwrap();
    let wrong = MINE.replace("listeners[0].port", "listeners[0].prt");
    let error = started(at.path(), &wrong).err().unwrap();
    assert_eq!(
        error.culprit(),
        Culprit::File {
            path: at.path().join("mine.conf"),
            line: Some(7)
        }
    );
    let error = folder("nginx")
        .with_config(&at.path().join("absent"))
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("cannot read the configuration: No such file"),
        "{error}"
    );
}
