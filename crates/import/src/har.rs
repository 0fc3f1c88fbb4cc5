//! Imports HAR files (HTTP Archive 1.2), which contain the requests that a browser recorded.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::ImportError;
use crate::folder::Folder;
use crate::options::Options;
use crate::time;
use crate::traffic::{self, Hit, Recorder};

#[derive(Deserialize)]
struct Archive {
    log: Record,
}

#[derive(Deserialize)]
struct Record {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    body_size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: i64,
    #[serde(default)]
    body_size: i64,
    #[serde(default)]
    content: Content,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default)]
    size: i64,
}

/// An archive has one client, the browser.
const CLIENT: &[u8] = b"browser";

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let archive: Archive = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = format!("line {line}, column {column}: this is not an HTTP Archive");
        let remedy = format!("save it again as HAR 1.2 with all entries (reason: {error})");
        ImportError::nothing(&options.file, &message, &remedy)
    })?;
    let mut folder = Folder::default();
    let mut entries = archive.log.entries;
    entries.sort_by(|a, b| a.started_date_time.cmp(&b.started_date_time));
    let host = main_host(&entries, &mut folder);
    let mut recorder = Recorder::new(&options.replay);
    let mut without_time = 0;
    let own = entries.iter();
    for entry in own.filter(|entry| host_of(&entry.request.url) == host) {
        let Some(at_ms) = time::common_or_iso(entry.started_date_time.as_bytes()) else {
            without_time += 1;
            continue;
        };
        let bytes = |size: i64| u64::try_from(size).ok();
        let received = entry.response.body_size.max(entry.response.content.size);
        recorder.add(&Hit {
            at_ms,
            method: &entry.request.method,
            target: &entry.request.url,
            status: u16::try_from(entry.response.status).unwrap_or(0),
            response_bytes: bytes(received),
            request_bytes: bytes(entry.request.body_size),
            client: CLIENT,
        });
    }
    if without_time > 0 {
        folder.facts.push(format!(
            "entries left out for lack of a valid startedDateTime: {without_time}"
        ));
    }
    let requests = recorder.requests();
    folder.facts.push(format!("requests to {host}: {requests}"));
    traffic::write(recorder, options, folder)
}

fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns the host with the most requests, and adds the number of requests to other hosts to the
/// facts. The import omits requests to other hosts, because they belong to other gateways.
fn main_host(entries: &[Entry], folder: &mut Folder) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in entries {
        *counts.entry(host_of(&entry.request.url)).or_default() += 1;
    }
    let main = counts.into_iter().max_by_key(|(_, count)| *count);
    let (host, count) = main.unwrap_or_default();
    let others = entries.len() as u64 - count;
    if others > 0 {
        let fact = format!("requests left out because they go to other hosts: {others}");
        folder.facts.push(fact);
    }
    host.to_owned()
}
