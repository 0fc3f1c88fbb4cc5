//! Finds the requests of a script: the calls to `http`, `check` and `sleep`, by the function that
//! contains them.

use std::ops::Range;
use std::time::Duration;

use gatebench_model::request::HeaderCheck;
use gatebench_model::{Body, Check, Request, template};
use serde_json::Value as Json;

use super::lexer::{Kind, Token, tokens};
use super::value::{Constants, HOLE, Reader};
use crate::log::Log;

/// The name of the data source for values that are known only when the script runs.
pub(super) const SOURCE: &str = "value";

/// The template that inserts a value of [`SOURCE`] into a request.
pub(super) const COMPUTED: &str = "{{ value }}";

/// The functions of `http` that send requests, each with its HTTP method and the index of its
/// `params` argument.
const CALLS: [(&str, &str, usize); 8] = [
    ("get", "GET", 1),
    ("head", "HEAD", 1),
    ("post", "POST", 2),
    ("put", "PUT", 2),
    ("patch", "PATCH", 2),
    ("del", "DELETE", 2),
    ("options", "OPTIONS", 2),
    ("request", "", 3),
];

/// The parts of a script that are understood.
#[derive(Default)]
pub(super) struct Script {
    pub(super) options: Json,
    /// Requests, each with the function that contains it.
    pub(super) requests: Vec<(String, Request)>,
    /// The sleeps in seconds, each with the function that contains it.
    pub(super) sleeps: Vec<(String, f64)>,
    pub(super) has_tls: bool,
}

impl Script {
    /// Returns the think time after each request of a function, or `None` if the function does not
    /// sleep. The sleep of an iteration is divided among its requests, because a gatebench
    /// connection pauses after each request.
    pub(super) fn think(&self, function: &str) -> Option<Duration> {
        let sleeps = self.sleeps.iter().filter(|(name, _)| name == function);
        let slept: f64 = sleeps.map(|(_, seconds)| seconds).sum();
        let requests = self.requests.iter().filter(|(name, _)| name == function);
        let requests = requests.count();
        let think = Duration::try_from_secs_f64(slept / requests.max(1) as f64).ok()?;
        Some(think).filter(|think| !think.is_zero())
    }
}

pub(super) fn read(text: &str, log: &mut Log<'_>) -> Script {
    let tokens = tokens(text);
    let mut walker = Walker {
        text,
        tokens: &tokens,
        constants: Constants::new(),
        functions: Vec::new(),
        depth: 0,
        script: Script::default(),
        checks: Vec::new(),
        not_known: Vec::new(),
    };
    let mut at = 0;
    while at < tokens.len() {
        at = walker.step(at, log);
        walker.attach_checks(at);
    }
    walker.script
}

struct Walker<'t> {
    text: &'t str,
    tokens: &'t [Token],
    constants: Constants,
    /// The functions that contain the current token, each with the depth of its braces.
    functions: Vec<(String, usize)>,
    depth: usize,
    script: Script,
    /// Each `check` whose end has not been reached.
    checks: Vec<OpenCheck>,
    /// The positions of requests that are not understood, so that each is reported once.
    not_known: Vec<usize>,
}

/// A call of `check` that may contain its request.
struct OpenCheck {
    /// The index of the token after the call.
    end: usize,
    conditions: Vec<Check>,
    /// True if the call contains a request that is left out, whose conditions these are.
    is_left_out: bool,
}

impl Walker<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.text[token.span.clone()])
    }

    fn function(&self) -> String {
        self.functions
            .last()
            .map_or("default", |(name, _)| name.as_str())
            .to_owned()
    }

    /// Processes a token, and returns the index of the next token to process.
    fn step(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let is_call = |at: usize| self.word(at) == "(";
        match self.word(at) {
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.functions.retain(|(_, of)| *of <= self.depth);
            }
            "function" => return self.enter(at),
            "const" | "let" | "var" if self.word(at + 2) == "=" => return self.constant(at),
            "http" if self.word(at + 1) == "." && is_call(at + 3) => return self.http(at, log),
            "sleep" if is_call(at + 1) => return self.sleep(at, log),
            "check" if is_call(at + 1) => return self.check(at, log),
            _ => {}
        }
        at + 1
    }

    /// Enters a function. A function without a name is the default one.
    fn enter(&mut self, at: usize) -> usize {
        let name = match self.word(at + 1) {
            "(" => "default",
            name => name,
        };
        self.functions.push((name.to_owned(), self.depth + 1));
        let mut next = at + 1;
        while next < self.tokens.len() && self.word(next) != "{" {
            next += 1;
        }
        next
    }

    /// Stores the value of a constant. Its expression is scanned again, because it may contain
    /// calls.
    fn constant(&mut self, at: usize) -> usize {
        let name = self.word(at + 1).to_owned();
        let mut reader = Reader::new(self.text, self.tokens, at + 3, &self.constants);
        let value = reader.expression();
        let end = reader.at;
        if name == "options" {
            self.script.options = value.unwrap_or_default();
            return end;
        }
        let is_arrow = (at + 3..end.min(at + 12)).any(|it| self.word(it) == "=>");
        if is_arrow && self.depth == 0 {
            self.functions.push((name, self.depth + 1));
        } else if let Some(value) = value {
            self.constants.insert(name, value);
        }
        at + 3
    }

    fn http(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let name = self.word(at + 2).to_owned();
        let span = self.tokens[at].span.clone();
        let Some((_, method, place)) = CALLS.iter().find(|(call, ..)| *call == name) else {
            if matches!(name.as_str(), "batch" | "asyncRequest") {
                self.leave_out();
                if !self.not_known.contains(&at) {
                    self.not_known.push(at);
                    log.simplified(&span, format!("http.{name}: its requests are left out"));
                }
            }
            return at + 3;
        };
        let mut reader = Reader::new(self.text, self.tokens, at + 4, &self.constants);
        let mut arguments = Vec::new();
        while reader.at < reader.tokens.len() && !reader.take(")") {
            arguments.push(reader.expression());
            if !reader.take(",") && reader.peek() != ")" {
                break;
            }
        }
        let end = reader.at;
        let argument = |at: usize| arguments.get(at).and_then(Option::as_ref);
        let text = |at: usize| argument(at).and_then(Json::as_str);
        let method = match *method {
            "" => text(0).unwrap_or("GET").to_uppercase(),
            method => method.to_owned(),
        };
        let Some(url) = text(usize::from(name == "request")) else {
            let what = format!("http.{name} with an unknown URL: the request is left out");
            log.simplified(&span, what);
            self.leave_out();
            return end;
        };
        self.script.has_tls |= url.starts_with("https://");
        let mut request = Request::new(method, with_values(&path_of(url)));
        if url.contains(HOLE) {
            let what = "a computed part of a URL: a number is sent instead";
            log.simplified(&span, what);
        }
        add_headers(argument(*place), &mut request);
        if *place > 1
            && let Some(body) = arguments.get(place - 1)
        {
            add_body(body.as_ref(), &mut request, &span, log);
        }
        let function = self.function();
        self.script.requests.push((function, request));
        end
    }

    fn sleep(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let mut reader = Reader::new(self.text, self.tokens, at + 2, &self.constants);
        let seconds = reader.expression().as_ref().and_then(Json::as_f64);
        let end = reader.at;
        let function = self.function();
        match seconds {
            Some(seconds) => self.script.sleeps.push((function, seconds)),
            None => {
                let what = "a computed think time: it is left out";
                log.simplified(&self.tokens[at].span, what);
            }
        }
        end
    }

    /// Adds the conditions of each `check` that ends before a token to the request before its end.
    /// This request may be an argument of the `check`.
    fn attach_checks(&mut self, at: usize) {
        while let Some(check) = self.checks.pop_if(|it| it.end <= at) {
            if let Some((_, request)) = self.script.requests.last_mut()
                && !check.is_left_out
            {
                request.checks.extend(check.conditions);
            }
        }
    }

    /// Marks that a request is left out.
    fn leave_out(&mut self) {
        self.checks.iter_mut().for_each(|it| it.is_left_out = true);
    }

    /// Stores the conditions of `check` until its end.
    fn check(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let mut depth = 0_usize;
        let mut end = at + 1;
        let mut from = at + 2;
        let mut checks: Vec<Check> = Vec::new();
        while end < self.tokens.len() {
            let is_sign = self.tokens[end].kind == Kind::Sign;
            match self.word(end) {
                "(" | "[" | "{" if is_sign => depth += 1,
                ")" | "]" | "}" if is_sign => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_member_end = is_sign && matches!(self.word(end), "," | "}") && depth <= 2;
            if depth == 0 || is_member_end {
                self.condition(from, end, &mut checks, log);
                from = end + 1;
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
        self.checks.push(OpenCheck {
            end,
            conditions: checks,
            is_left_out: false,
        });
        // A request may be an argument of `check`.
        at + 2
    }

    /// Parses a condition such as `'ok': (r) => r.status === 200`.
    fn condition(&self, from: usize, end: usize, checks: &mut Vec<Check>, log: &mut Log<'_>) {
        let Some(colon) = (from..end).find(|at| self.word(*at) == ":") else {
            return;
        };
        let is_between = |at: &usize| matches!(self.word(*at), "&&" | "||");
        let mut ends = Vec::from_iter((colon + 1..end).filter(is_between));
        let has_alternatives = ends.iter().any(|at| self.word(*at) == "||");
        ends.push(end);
        let mut from_term = colon + 1;
        let terms = ends.iter().map(|end| {
            let term = self.term(from_term, *end);
            from_term = end + 1;
            term
        });
        let terms: Vec<Option<Check>> = terms.collect();
        let is_whole = terms.iter().all(Option::is_some);
        let mut understood = Vec::from_iter(terms.into_iter().flatten());
        let what = if understood.is_empty() {
            "a check that is not understood: it is omitted"
        } else if has_alternatives {
            understood.truncate(1);
            "a check with alternatives: only the first one that is understood is kept"
        } else {
            "a check that is understood only in part: its other conditions are omitted"
        };
        checks.extend(understood);
        if !is_whole || has_alternatives {
            log.simplified(&self.tokens[from].span, what);
        }
    }

    /// Parses a part of a condition that contains neither `&&` nor `||`. Returns `None` if the part
    /// is not understood.
    fn term(&self, from: usize, end: usize) -> Option<Check> {
        let text = |at: usize| match self.tokens.get(at).map(|token| &token.kind) {
            Some(Kind::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let is_equal = |at: usize| matches!(self.word(at), "===" | "==");
        if (from..end).any(|at| self.word(at) == "!") {
            return None;
        }
        (from..end).find_map(|at| match self.word(at) {
            "status" if is_equal(at + 1) => match self.tokens.get(at + 2).map(|it| &it.kind) {
                Some(Kind::Number(status)) => Some(Check::Status(*status as u16)),
                _ => None,
            },
            "headers" if self.word(at + 1) == "[" && is_equal(at + 4) => {
                let (name, equals) = (text(at + 2)?, text(at + 5)?);
                Some(Check::Header(HeaderCheck { name, equals }))
            }
            "includes" if self.word(at + 1) == "(" => text(at + 2).map(Check::BodyContains),
            "body" if is_equal(at + 1) => text(at + 2).map(Check::BodyEquals),
            _ => None,
        })
    }
}

/// Adds the value of a body if it is known.
fn add_body(body: Option<&Json>, request: &mut Request, span: &Range<usize>, log: &mut Log<'_>) {
    match body {
        Some(Json::Null) => {}
        None => log.simplified(span, "a computed body: none is sent"),
        Some(Json::String(text)) => {
            if text.contains(HOLE) {
                let what = "a computed part of a body: a number is sent instead";
                log.simplified(span, what);
            }
            request.body = Some(Body::new(with_values(text)));
        }
        Some(Json::Object(members)) => {
            let pair = |(name, value): (&String, &Json)| format!("{name}={}", text_of(value));
            let pairs: Vec<String> = members.iter().map(pair).collect();
            request.body = Some(Body::new(with_values(&pairs.join("&").replace(' ', "+"))));
            let form = "application/x-www-form-urlencoded".to_owned();
            request.headers.entry("Content-Type".into()).or_insert(form);
        }
        Some(other) => request.body = Some(Body::new(other.to_string())),
    }
}

fn text_of(value: &Json) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// Returns the path and query of a URL, whose scheme and host may be computed by the script.
fn path_of(url: &str) -> String {
    let rest = match url.split_once("://") {
        Some((_, rest)) => rest,
        None if url.starts_with(HOLE) => &url[HOLE.len_utf8()..],
        None => url,
    };
    let path = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    match path.starts_with('?') {
        true => format!("/{path}"),
        false => path.to_owned(),
    }
}

/// Converts the text to a template in which a value from `SOURCE` fills each hole.
fn with_values(text: &str) -> String {
    let parts: Vec<String> = text.split(HOLE).map(template::escape).collect();
    parts.join(COMPUTED)
}

fn add_headers(parameters: Option<&Json>, request: &mut Request) {
    let headers = parameters.and_then(|it| it.get("headers")?.as_object());
    for (name, value) in headers.into_iter().flatten() {
        let framing = ["content-length", "connection", "host", "transfer-encoding"];
        if !framing.contains(&name.to_ascii_lowercase().as_str()) {
            let value = with_values(&text_of(value));
            request.headers.insert(name.clone(), value);
        }
    }
    let name = parameters.and_then(|it| it.pointer("/tags/name")?.as_str());
    request.name = name.map(str::to_owned);
}
