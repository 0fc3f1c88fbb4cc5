//! Logs with one JSON object per line. The parser recognizes the member names of Kong, APISIX,
//! Envoy, Traefik and Caddy, and names that are common in nginx and HAProxy configurations.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::request_line;
use crate::time;
use crate::traffic::Hit;

pub(super) const EXAMPLE: &str = r#"{"time": "2025-10-10T13:55:36Z", "method": "GET", "uri": "/a", "status": 200, "bytes_sent": 2326}"#;

/// A parsed line. A string is copied only if it contains JSON escapes.
#[derive(Debug, Default)]
pub(super) struct JsonLine<'l> {
    at: Value<'l>,
    method: Value<'l>,
    target: Value<'l>,
    request: Value<'l>,
    status: Value<'l>,
    response_bytes: Value<'l>,
    request_bytes: Value<'l>,
    client: Value<'l>,
}

/// A string or a number; `None` if the member is missing or has any other value.
#[derive(Debug, Default)]
enum Value<'l> {
    #[default]
    None,
    Text(Cow<'l, str>),
    Number(f64),
}

/// The error states what was expected.
pub(super) fn parse(text: &[u8]) -> Result<JsonLine<'_>, &'static str> {
    let mut line = JsonLine::default();
    let members = Some((&mut line, Within::Line));
    let mut json = serde_json::Deserializer::from_slice(text);
    let read = json.deserialize_map(Reader { members });
    let read = read.and_then(|_| json.end());
    read.map(|()| line).map_err(|_| "a JSON object")
}

impl JsonLine<'_> {
    /// Returns the request in the line, or `None` if the line has none. The error states what was
    /// expected.
    pub(super) fn hit(&self) -> Result<Option<Hit<'_>>, &'static str> {
        let at_ms = match &self.at {
            Value::Text(text) => time::common_or_iso(text.as_bytes())
                .or_else(|| time::since_1970(text.parse().ok()?)),
            Value::Number(number) => time::since_1970(*number),
            Value::None => None,
        };
        let status = self.status.number();
        let status = status.ok_or("a member `status`, `response_code` or `response.status`")?;
        let parts = match (self.method.text(), self.target.text(), self.request.text()) {
            (Some(method), Some(target), _) => Some((method, target)),
            (_, _, Some(line)) => request_line::parts(line.as_bytes())?,
            _ => return Err("members `method` and `uri`, or `request`"),
        };
        let at_ms = at_ms.ok_or("a member `time`, `time_iso8601`, `start_time` or `started_at`")?;
        let Some((method, target)) = parts else {
            return Ok(None);
        };
        Ok(Some(Hit {
            at_ms,
            method,
            target,
            status: status as u16,
            response_bytes: self.response_bytes.number().map(|it| it as u64),
            request_bytes: self.request_bytes.number().map(|it| it as u64),
            client: self.client.text().unwrap_or_default().as_bytes(),
        }))
    }
}

impl<'l> Value<'l> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::None => None,
        }
    }

    /// Stores a value unless one is already stored: the first of several members wins.
    fn set(&mut self, value: Value<'l>) {
        if matches!(self, Self::None) {
            *self = value;
        }
    }
}

/// The object that contains a member: the line, or an object in it.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Line,
    Request,
    Response,
}

impl<'l> JsonLine<'l> {
    /// Returns the field for a member, or `None` if the member is not used.
    fn place(&mut self, within: Within, name: &str) -> Option<&mut Value<'l>> {
        Some(match (within, name) {
            (
                Within::Line,
                "time" | "time_iso8601" | "time_local" | "timestamp" | "@timestamp" | "ts"
                | "start_time" | "started_at" | "StartUTC" | "StartLocal" | "msec" | "accept_date"
                | "datetime" | "date",
            ) => &mut self.at,
            (
                Within::Line,
                "method" | "request_method" | "http_method" | "verb" | "RequestMethod"
                | "requestMethod",
            )
            | (Within::Request, "method") => &mut self.method,
            (
                Within::Line,
                "uri"
                | "request_uri"
                | "path"
                | "url"
                | "target"
                | "RequestPath"
                | "requestPath"
                | "http_uri"
                | "x-envoy-original-path",
            )
            | (Within::Request, "uri" | "url" | "path") => &mut self.target,
            (Within::Line, "request" | "request_line" | "http_request") => &mut self.request,
            (
                Within::Line,
                "status" | "response_code" | "status_code" | "code" | "DownstreamStatus"
                | "http_status",
            )
            | (Within::Response, "status" | "status_code") => &mut self.status,
            (
                Within::Line,
                "body_bytes_sent"
                | "bytes_sent"
                | "size"
                | "bytes"
                | "DownstreamContentSize"
                | "response_size"
                | "bytes_read"
                | "response_length",
            )
            | (Within::Response, "size") => &mut self.response_bytes,
            (
                Within::Line,
                "request_length" | "bytes_received" | "bytes_read_request" | "RequestContentSize"
                | "request_size" | "content_length",
            )
            | (Within::Request, "size") => &mut self.request_bytes,
            (
                Within::Line,
                "remote_addr"
                | "client_ip"
                | "clientip"
                | "remote_ip"
                | "ClientHost"
                | "client"
                | "x_forwarded_for"
                | "downstream_remote_address"
                | "remoteAddr",
            )
            | (Within::Request, "remote_ip" | "client_ip" | "remote_addr") => &mut self.client,
            _ => return None,
        })
    }
}

/// Parses a scalar, or the members of an object.
struct Reader<'m, 'l> {
    /// The line that receives the members, and the object that contains them; `None` if only a
    /// scalar is wanted.
    members: Option<(&'m mut JsonLine<'l>, Within)>,
}

impl<'de: 'l, 'l> DeserializeSeed<'de> for Reader<'_, 'l> {
    type Value = Value<'l>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'l>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'l, 'l> Visitor<'de> for Reader<'_, 'l> {
    type Value = Value<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'l>, A::Error> {
        let Some((line, within)) = self.members else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::None);
        };
        while let Some(key) = map.next_key_seed(Reader { members: None })? {
            let key = key.text().unwrap_or_default();
            let inner = match (within, key) {
                (Within::Line, "request") => Some(Within::Request),
                (Within::Line, "response") => Some(Within::Response),
                _ => None,
            };
            if let Some(within) = inner {
                let members = Some((&mut *line, within));
                let value = map.next_value_seed(Reader { members })?;
                if within == Within::Request {
                    line.request.set(value);
                }
            } else if let Some(place) = line.place(within, key) {
                place.set(map.next_value_seed(Reader { members: None })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::None)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'l>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'l>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'l>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'l>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'l>, E> {
        Ok(Value::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'l>, E> {
        Ok(Value::None)
    }

    fn visit_unit<E>(self) -> Result<Value<'l>, E> {
        Ok(Value::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'l>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }
}
