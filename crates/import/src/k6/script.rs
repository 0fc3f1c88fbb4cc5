//! Finds the calls of `http`, `check` and `sleep` in a script, and the functions that contain them.

mod variables;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use gatebench_model::request::HeaderCheck;
use gatebench_model::{Body, Check, Request, template};
use serde_json::Value as Json;

use super::constants::Constants;
use super::lexer::{Kind, Token, tokens};
use super::options::{DEFAULT, Iteration};
use super::value::{HOLE, Reader};
use crate::log::Log;

/// The name of the data source for values that are known only when the script runs.
pub(super) const SOURCE: &str = "value";

/// The template that inserts a value of [`SOURCE`] into a request.
pub(super) const COMPUTED: &str = "{{ value }}";

/// The functions of `http` whose requests are imported, each with its HTTP method (empty if the
/// first argument names it) and the index of its `params` argument.
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
    /// Returns the number of requests and the think time of an iteration of a function. The sleep
    /// of an iteration is divided among its requests, because a gatebench connection pauses after
    /// each request.
    pub(super) fn iteration(&self, function: &str) -> Iteration {
        let sleeps = self.sleeps.iter().filter(|(name, _)| name == function);
        let slept: f64 = sleeps.map(|(_, seconds)| seconds).sum();
        let requests = self.requests.iter().filter(|(name, _)| name == function);
        let requests = requests.count().max(1) as f64;
        let think = Duration::try_from_secs_f64(slept / requests).ok();
        Iteration {
            requests,
            think: think.filter(|think| !think.is_zero()),
        }
    }
}

pub(super) fn read(text: &str, log: &mut Log<'_>) -> Script {
    let tokens = tokens(text);
    let mut walker = Walker {
        text,
        tokens: &tokens,
        constants: Constants::default(),
        functions: Vec::new(),
        depth: 0,
        script: Script::default(),
        responses: BTreeMap::new(),
        latest: None,
        checks: Vec::new(),
    };
    let mut at = 0;
    while at < tokens.len() {
        at = walker.step(at, log);
        walker.attach_checks(at);
    }
    if walker.constants.is_exhausted() {
        let what =
            "constants that are too large or used too often: later uses are treated as unknown";
        log.simplified(&(0..0), what);
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
    /// For each variable of the current function that holds a response, the index of its request in
    /// the script, or `None` if the request is left out.
    responses: BTreeMap<String, Option<usize>>,
    /// The index of the latest request; `None` before the first request, or if the latest one is
    /// left out.
    latest: Option<usize>,
    /// Each `check` whose end has not been reached.
    checks: Vec<OpenCheck>,
}

/// A call of `check`, which may contain its request.
struct OpenCheck {
    /// The index of the token after the call.
    end: usize,
    /// The index of the token before the conditions.
    comma: usize,
    conditions: Vec<Check>,
    /// The index of the request, or `None` if the request is left out.
    request: Option<usize>,
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
            .map_or(DEFAULT, |(name, _)| name.as_str())
            .to_owned()
    }

    /// Processes a token, and returns the index of the next token to process.
    fn step(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let is_call = |at: usize| self.word(at) == "(";
        match self.word(at) {
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.constants.leave(self.depth);
                self.functions.retain(|(_, of)| *of <= self.depth);
            }
            "function" => return self.enter(at),
            "=>" if self.word(at + 1) == "{" => self.arrow(at),
            "const" | "let" | "var" => return self.declaration(at, log),
            "http" if self.word(at + 1) == "." && is_call(at + 3) => return self.http(at, log),
            "sleep" if is_call(at + 1) => return self.sleep(at, log),
            "check" if is_call(at + 1) => return self.check(at, log),
            "++" | "--" if at == 0 || self.tokens[at - 1].kind == Kind::Sign => self.forget(at + 1),
            _ if self.is_changed(at) => self.forget(at),
            _ => {}
        }
        at + 1
    }

    /// Enters a function. A function in another one, such as a callback, belongs to that one,
    /// because k6 can run only exported functions.
    fn enter(&mut self, at: usize) -> usize {
        if self.depth == 0 {
            self.responses.clear();
        }
        let back = |count: usize| at.checked_sub(count).map_or("", |at| self.word(at));
        let before = 1 + usize::from(back(1) == "async");
        let name = match (back(before), self.word(at + 1)) {
            ("default", _) => DEFAULT.to_owned(),
            _ if self.depth > 0 => self.function(),
            ("=", "(") => back(before + 1).to_owned(),
            (_, "(") => self.function(),
            (_, name) => name.to_owned(),
        };
        self.functions.push((name, self.depth + 1));
        let next = self.position(at + 1, "(");
        let next = self.parameters(next);
        self.position(next, "{")
    }

    /// Returns the index of the next token with this text, or the number of tokens if there is
    /// none.
    fn position(&self, from: usize, word: &str) -> usize {
        let mut rest = from..self.tokens.len();
        rest.find(|at| self.word(*at) == word)
            .unwrap_or(self.tokens.len())
    }

    /// Stores the value of a constant. Its expression is scanned again, because it may contain
    /// calls.
    fn constant(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let name = self.word(at + 1).to_owned();
        let mut reader = Reader::new(self.text, self.tokens, at + 3, &self.constants);
        let value = reader.expression();
        let end = reader.at;
        if name == "options" && self.depth == 0 {
            let span = &self.tokens[at].span;
            if value.is_none() {
                log.simplified(
                    span,
                    "options that exist only while k6 runs: they are omitted",
                );
            }
            let keys = reader.unknown.iter().filter_map(|keys| keys.first());
            for key in keys.filter(|_| value.is_some()) {
                let what = "its value exists only while k6 runs, so it is omitted";
                log.simplified(span, format!("`{key}` in the options: {what}"));
            }
            // The end of an expression that is not understood is unknown.
            let next = value.as_ref().map_or(at + 3, |_| end);
            self.script.options = value.unwrap_or_default();
            return next;
        }
        let is_arrow = (at + 3..end.min(at + 12)).any(|it| self.word(it) == "=>");
        if is_arrow && self.depth == 0 {
            self.responses.clear();
            self.functions.push((name, self.depth + 1));
        } else {
            let unknown = reader.unknown;
            self.constants.declare(self.depth, &name, value, unknown);
        }
        at + 3
    }

    fn http(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let name = self.word(at + 2).to_owned();
        let span = self.tokens[at].span.clone();
        let Some((_, method, place)) = CALLS.iter().find(|(call, ..)| *call == name) else {
            if matches!(name.as_str(), "batch" | "asyncRequest") {
                self.add_request(at, None);
                log.simplified(&span, format!("http.{name}: its requests are left out"));
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
            self.add_request(at, None);
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
        self.add_request(at, Some(request));
        end
    }

    /// Stores the request of the call at a token; `None` means that the request is left out. The
    /// response belongs to the variable to which it is assigned, and to each `check` whose first
    /// argument contains the call.
    fn add_request(&mut self, at: usize, request: Option<Request>) {
        let index = request.map(|request| {
            let function = self.function();
            self.script.requests.push((function, request));
            self.script.requests.len() - 1
        });
        self.latest = index;
        for check in self.checks.iter_mut().filter(|it| at < it.comma) {
            check.request = index;
        }
        if let Some(name) = self.assigned(at) {
            self.responses.insert(name, index);
        }
    }

    /// Returns the variable to which the call at a token is assigned. The variable may have a type
    /// annotation, as in TypeScript.
    fn assigned(&self, at: usize) -> Option<String> {
        let is = |at: usize, word: &str| self.word(at) == word;
        let call = match at.checked_sub(1)? {
            before if is(before, "await") => before,
            _ => at,
        };
        let mut name = call.checked_sub(2)?;
        if !is(name + 1, "=") {
            return None;
        }
        if name >= 2 && is(name - 1, ":") {
            name -= 2;
        }
        let is_member = name > 0 && is(name - 1, ".");
        (!is_member).then(|| self.word(name).to_owned())
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

    /// Adds the conditions of each `check` that ends before a token to the request of that `check`.
    fn attach_checks(&mut self, at: usize) {
        while let Some(check) = self.checks.pop_if(|it| it.end <= at) {
            let request = check
                .request
                .and_then(|it| self.script.requests.get_mut(it));
            if let Some((_, request)) = request {
                request.checks.extend(check.conditions);
            }
        }
    }

    /// Stores the conditions of `check` until its end. They are members of the second argument.
    fn check(&mut self, at: usize, log: &mut Log<'_>) -> usize {
        let mut depth = 0_usize;
        let mut end = at + 1;
        let mut comma = None;
        let mut from = None;
        let mut checks: Vec<Check> = Vec::new();
        while end < self.tokens.len() {
            let is_sign = self.tokens[end].kind == Kind::Sign;
            match self.word(end) {
                "(" | "[" | "{" if is_sign => depth += 1,
                ")" | "]" | "}" if is_sign => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_member_end = is_sign && matches!(self.word(end), "," | "}") && depth <= 2;
            if let Some(start) = from.filter(|_| depth == 0 || is_member_end) {
                self.condition(start, end, &mut checks, log);
                // The argument after the conditions contains tags.
                from = (depth > 1).then_some(end + 1);
            } else if comma.is_none() && depth == 1 && is_sign && self.word(end) == "," {
                comma = Some(end);
                from = Some(end + 1);
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
        let named = at + 2 + usize::from(self.word(at + 2) == "await");
        let request = self.responses.get(self.word(named)).copied();
        self.checks.push(OpenCheck {
            end,
            comma: comma.unwrap_or(end),
            conditions: checks,
            request: request.unwrap_or(self.latest),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> (Script, usize) {
        let mut log = Log::new("k6.js", text);
        let script = read(text, &mut log);
        (script, log.notes.len())
    }

    #[test]
    fn a_check_belongs_to_the_response_that_it_names() {
        let text = "const a = http.get('/a'), x = 1; let b = await http.get('/b');
            check(a, {ok: (r) => r.status === 201});
            check(b, {ok: (r) => r.status === 202});
            const c = http.get(url()); check(c, {ok: (r) => r.status === 203});
            const d = http.batch([]); check(d[0], {ok: (r) => r.status === 204});
            const e = http.get('/e'); check(http.post('/f', {k: v}, p), {ok: (r) => r.status === 205});";
        let (script, notes) = script(text);
        let checks = |(_, request): &(String, Request)| request.checks.clone();
        let expected = [201, 202].map(|status| vec![Check::Status(status)]);
        assert_eq!(
            Vec::from_iter(script.requests.iter().take(2).map(checks)),
            expected
        );
        let rest = Vec::from_iter(script.requests.iter().skip(2).map(checks));
        assert_eq!(rest, [vec![], vec![Check::Status(205)]]);
        // The unknown URL and the batch.
        assert_eq!(notes, 2);
    }

    #[test]
    fn a_check_of_an_unnamed_response_belongs_to_the_latest_request() {
        for (text, expected) in [
            // A variable that gets a new value.
            (
                "let a = http.get('/a'); a = group('b', () => http.post('/b')); check(a, C)",
                [0, 1],
            ),
            // Variables of other functions, and types.
            (
                "function f() { const a = http.get('/a') } function g(a) { http.get('/b'); check(a, C) }",
                [0, 1],
            ),
            (
                "function f() { const a = http.get('/a') } function g() { const a: Response = http.get('/b'); check(a, C) }",
                [0, 1],
            ),
            (
                "const a = http.get('/a'); x.a = http.get('/b'); check(a, C)",
                [1, 0],
            ),
            // Responses of requests that are left out.
            (
                "http.get('/a'); http.get('/b'); const [x] = http.batch([]); check(x, C)",
                [0, 0],
            ),
            (
                "http.get('/a'); http.get('/b'); const p = http.asyncRequest('GET', u); check(await p, C)",
                [0, 0],
            ),
            // A request in a condition.
            (
                "const a = http.get('/a'); check(a, {ok: (r) => r.status === 201, b: () => http.get('/b') })",
                [1, 0],
            ),
        ] {
            let (script, _) = script(&text.replace('C', "{ok: (r) => r.status === 201}"));
            let counts = script.requests.iter().map(|(_, it)| it.checks.len());
            assert_eq!(Vec::from_iter(counts), expected, "{text}");
        }
    }

    #[test]
    fn tags_are_not_conditions() {
        let text = "check(http.get('/a'), {ok: (r) => r.status === 200}, {endpoint: 'a'})";
        let (script, notes) = script(text);
        assert_eq!((script.requests[0].1.checks.len(), notes), (1, 0));
    }

    #[test]
    fn options_that_are_not_understood_hide_no_request() {
        let text = "export const options = a ? {vus: 1} : {vus: 2}
            export default function () { http.get('/a') }";
        assert_eq!(script(text).0.requests.len(), 1);
    }
}
