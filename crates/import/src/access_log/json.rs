//! One JSON object per line, with the member names that configurations of nginx and HAProxy
//! commonly use, and those of Kong, APISIX, Envoy, Traefik and Caddy.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::request_line;
use crate::time;
use crate::traffic::Hit;

/// An example for error messages.
pub(super) const EXAMPLE: &str = r#"{"time": "2025-10-10T13:55:36Z", "method": "GET", "uri": "/a", "status": 200, "bytes_sent": 2326}"#;

/// A parsed line. Its strings may be copies, because JSON escapes characters.
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

/// A scalar; empty for other values.
#[derive(Debug, Default)]
enum Value<'l> {
    #[default]
    None,
    Text(Cow<'l, str>),
    Number(f64),
}

/// Reads a line. Otherwise returns the expectation that the line does not meet.
pub(super) fn parse(line: &[u8]) -> Result<JsonLine<'_>, &'static str> {
    serde_json::from_slice(line).map_err(|_| "a JSON object")
}

impl JsonLine<'_> {
    /// The request of the line, if it has one.
    pub(super) fn hit(&self) -> Result<Option<Hit<'_>>, &'static str> {
        let at_ms = match &self.at {
            Value::Text(text) => time::common_or_iso(text.as_bytes())
                .or_else(|| time::since_1970(text.parse().ok()?)),
            Value::Number(number) => time::since_1970(*number),
            Value::None => None,
        };
        let status = self
            .status
            .number()
            .ok_or("a member `status`, `response_code` or `response.status`")?;
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

    /// Stores a value, unless there already is one.
    fn set(&mut self, value: Value<'l>) {
        if matches!(self, Self::None) {
            *self = value;
        }
    }
}

/// The object that contains the members.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Line,
    Request,
    Response,
}

impl<'l> JsonLine<'l> {
    /// The place for a member; none if the member is not needed.
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

impl<'de: 'l, 'l> Deserialize<'de> for JsonLine<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = Self::default();
        let members = Members {
            line: &mut line,
            within: Within::Line,
        };
        deserializer.deserialize_map(members)?;
        Ok(line)
    }
}

/// Reads the members of an object into a line.
struct Members<'m, 'l> {
    line: &'m mut JsonLine<'l>,
    within: Within,
}

impl<'de: 'l, 'l> Visitor<'de> for Members<'_, 'l> {
    type Value = Value<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'l>, A::Error> {
        while let Some(key) = map.next_key::<Key<'de>>()? {
            let inner = match (self.within, &*key.0) {
                (Within::Line, "request") => Some(Within::Request),
                (Within::Line, "response") => Some(Within::Response),
                _ => None,
            };
            if let Some(within) = inner {
                let line = &mut *self.line;
                let value = map.next_value_seed(Inner(Members { line, within }))?;
                if within == Within::Request {
                    self.line.request.set(value);
                }
            } else if let Some(place) = self.line.place(self.within, &key.0) {
                place.set(map.next_value()?);
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

    fn visit_unit<E>(self) -> Result<Value<'l>, E> {
        Ok(Value::None)
    }
}

/// An object within a line, or a string in its place.
struct Inner<'m, 'l>(Members<'m, 'l>);

impl<'de: 'l, 'l> serde::de::DeserializeSeed<'de> for Inner<'_, 'l> {
    type Value = Value<'l>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'l>, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// A key, borrowed if it has no escapes.
struct Key<'k>(Cow<'k, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(text) => Ok(Self(text)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

impl<'de: 'l, 'l> Deserialize<'de> for Value<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar)
    }
}

struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::None)
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'de>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }
}
