//! Runs Python programs with the packages that `scripts/install-test-deps` installs. The tests of
//! `gatebench` include this file as well.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Prints the message as JSON. Fails if it contains unknown fields.
const DECODE: &str = "
import sys
from google.protobuf import json_format, unknown_fields
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
message = ExportMetricsServiceRequest()
message.ParseFromString(sys.stdin.buffer.read())
def known(it):
    assert len(unknown_fields.UnknownFieldSet(it)) == 0, it
    for field, value in it.ListFields():
        if field.message_type:
            values = value if hasattr(value, '__len__') and not hasattr(value, 'ListFields') else [value]
            for each in values: known(each)
known(message)
print(json_format.MessageToJson(message))
";

fn packages() -> PathBuf {
    let data = std::env::var_os("XDG_DATA_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/share"),
        PathBuf::from,
    );
    let folder = data.join("gatebench/metrics");
    let place = folder.display();
    assert!(
        folder.is_dir(),
        "{place} is missing: run scripts/install-test-deps"
    );
    folder
}

/// Runs a program with this input, and returns the JSON that it prints.
pub fn json(program: &str, input: &[u8]) -> Value {
    let mut python = Command::new("python3")
        .args(["-c", program])
        .env("PYTHONPATH", packages())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(input).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Decodes the body of a request to an OTLP receiver with the official messages. Several bodies in
/// a row are decoded as one.
pub fn otlp(body: &[u8]) -> Value {
    json(DECODE, body)
}
