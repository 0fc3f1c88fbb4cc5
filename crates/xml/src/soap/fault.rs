//! Writes faults, byte for byte as clients and checks expect them.

use std::fmt::Write as _;

use super::client::Client;
use crate::saxon::json_escaped;

/// The party that caused a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The message that the client sent.
    Client,
    /// A definition, the gateway, or the upstream's response.
    Server,
}

/// The response that a client gets when a chain fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub culprit: Culprit,
}

/// The text that replaces the details if clients must not see them.
const NOT_VERBOSE: &str = "SOAP/XML process failure";

/// A fault before it is written in a client's format.
#[derive(Debug)]
pub(crate) struct Trouble<'a> {
    /// The failed step, such as `Request - XSD validation failed`.
    pub title: &'a str,
    pub details: &'a str,
    pub culprit: Culprit,
    pub is_verbose: bool,
    /// The status of the upstream's response, if there is one.
    pub upstream_status: Option<u16>,
}

impl Fault {
    pub(crate) fn new(client: Client, trouble: &Trouble<'_>) -> Self {
        let status = match (client, trouble.culprit) {
            (Client::Json, Culprit::Client) => 400,
            _ => 500,
        };
        Self::with_status(status, client, trouble)
    }

    /// Returns the fault for a SOAP client after a failure of another policy or of the gateway. The
    /// status stays the same, and the body becomes a fault. Returns `None` for JSON clients, whose
    /// response is unchanged.
    pub fn of_status(status: u16, client: Client, is_verbose: bool) -> Option<Self> {
        if client == Client::Json {
            return None;
        }
        let trouble = Trouble {
            title: phrase(status),
            details: &format!("HTTP Error code is {status}"),
            culprit: if status < 500 {
                Culprit::Client
            } else {
                Culprit::Server
            },
            is_verbose,
            upstream_status: None,
        };
        Some(Self::with_status(status, client, &trouble))
    }

    fn with_status(status: u16, client: Client, trouble: &Trouble<'_>) -> Self {
        let body = match client {
            Client::Soap11 => soap11(trouble),
            Client::Soap12 => soap12(trouble),
            Client::Json => json(trouble),
        };
        Self {
            status,
            content_type: client.content_type(),
            body: body.into_bytes(),
            culprit: trouble.culprit,
        }
    }
}

impl Trouble<'_> {
    fn details(&self) -> &str {
        if self.is_verbose {
            self.details
        } else {
            NOT_VERBOSE
        }
    }

    fn upstream_status(&self) -> Option<u16> {
        self.upstream_status.filter(|_| self.is_verbose)
    }
}

fn soap11(trouble: &Trouble<'_>) -> String {
    let code = match trouble.culprit {
        Culprit::Client => "Client",
        Culprit::Server => "Server",
    };
    let title = for_xml(trouble.title);
    let details = for_xml(trouble.details());
    let upstream = trouble.upstream_status().map_or(String::new(), |status| {
        format!("\n        <backendHttpCode>{status}</backendHttpCode>")
    });
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <soap:Body>
    <soap:Fault>
      <faultcode>soap:{code}</faultcode>
      <faultstring>{title}</faultstring>
      <detail>
        <errorMessage>{details}</errorMessage>{upstream}
      </detail>
    </soap:Fault>
  </soap:Body>
</soap:Envelope>"#
    )
}

fn soap12(trouble: &Trouble<'_>) -> String {
    let code = match trouble.culprit {
        Culprit::Client => "Sender",
        Culprit::Server => "Receiver",
    };
    let title = for_xml(trouble.title);
    let details = for_xml(trouble.details());
    let upstream = trouble.upstream_status().map_or(String::new(), |status| {
        format!("\n          <f:backendHttpCode>{status}</f:backendHttpCode>")
    });
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:f="http://www.example.org/faults" xmlns:xml="http://www.w3.org/XML/1998/namespace">
  <env:Body>
    <env:Fault>
      <env:Code>
        <env:Value>env:{code}</env:Value>
      </env:Code>
      <env:Reason>
        <env:Text xml:lang="en">{title}</env:Text>
      </env:Reason>
      <env:Detail>
        <f:errorDetails>
          <f:errorMessage>{details}</f:errorMessage>{upstream}
        </f:errorDetails>
      </env:Detail>
    </env:Fault>
  </env:Body>
</env:Envelope>"#
    )
}

fn json(trouble: &Trouble<'_>) -> String {
    let mut body = format!("{{\n    \"message\": \"{}\"", for_json(trouble.title));
    if trouble.is_verbose {
        let details = for_json(trouble.details);
        // Writing to a string cannot fail.
        let _ = write!(body, ",\n    \"message_verbose\": \"{details}\"");
        if let Some(status) = trouble.upstream_status {
            let _ = write!(body, ",\n    \"backend_http_code\": {status}");
        }
    } else {
        body.push('\n');
    }
    body.push_str("\n}");
    body
}

/// Replaces quotes with apostrophes, and angle brackets with words, as clients expect. Escapes
/// ampersands, and omits carriage returns and characters that XML cannot contain.
fn for_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push('\''),
            '<' => out.push_str("Less Than"),
            '>' => out.push_str("Greater Than"),
            '&' => out.push_str("&amp;"),
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
    }
    out
}

fn for_json(text: &str) -> String {
    json_escaped(&text.replace('"', "'"))
}

/// Returns the reason phrase (RFC 9110, RFC 6585) of a status that gateways generate themselves.
fn phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests;
