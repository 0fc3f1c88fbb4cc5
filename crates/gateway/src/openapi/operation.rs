//! One operation: its parameters, its body and its answers.

use gatebench_net::http1::{Framing, Head};

use super::document::{Direction, Document};
use super::media::Media;
use super::of_answer;
use super::parameter::Parameter;
use crate::config::Mistake;
use crate::message::{Body as Told, Refusal, is_empty};

/// What the rest of a request, and its answer, are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// By its number.
    pub(super) operation: usize,
    /// The Content-Type of the request, by its number.
    pub(super) media: Option<u32>,
}

/// What an answer's body is held against: the answer and its Content-Type, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerCheck {
    answer: u32,
    media: Option<u32>,
}

impl AnswerCheck {
    /// Whether the body must be whole.
    pub(crate) fn wants_body(self) -> bool {
        self.media.is_some()
    }
}

/// An operation, compiled.
#[derive(Debug)]
pub(super) struct Operation {
    parameters: Vec<Parameter>,
    body: Option<Body>,
    answers: Vec<Answer>,
}

#[derive(Debug)]
struct Body {
    is_required: bool,
    media: Media,
}

#[derive(Debug)]
struct Answer {
    statuses: Statuses,
    headers: Vec<Parameter>,
    media: Media,
}

/// Which answers are meant, the most exact first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Statuses {
    One(u16),
    /// By the first digit.
    Class(u16),
    Others,
}

impl Operation {
    /// The operation of a path item.
    pub(super) fn compile(
        document: &Document,
        template: &str,
        item: &str,
        method: &str,
    ) -> Result<Self, Vec<Mistake>> {
        let pointer = format!("{item}/{method}");
        let mut mistakes = Vec::new();
        let own = parameters(document, &format!("{pointer}/parameters"), &mut mistakes);
        let mut all = parameters(document, &format!("{item}/parameters"), &mut mistakes);
        all.retain(|common| !own.iter().any(|one| one.overrides(common)));
        all.extend(own);
        let body = document.at(&format!("{pointer}/requestBody")).map(|_| {
            let place = document.resolve(&format!("{pointer}/requestBody"));
            Ok(Body {
                is_required: document.flag(&place, "required").unwrap_or(false),
                media: Media::compile(document, &format!("{place}/content"), Direction::Request)?,
            })
        });
        let body = body.transpose().unwrap_or_else(|wrong| {
            mistakes.extend::<Vec<Mistake>>(wrong);
            None
        });
        let mut answers = Vec::new();
        for (word, place) in document.entries(&format!("{pointer}/responses")) {
            match Answer::compile(document, &word, &document.resolve(&place)) {
                Ok(answer) => answers.push(answer),
                Err(wrong) => mistakes.extend(wrong),
            }
        }
        answers.sort_by_key(|answer| answer.statuses);
        if !mistakes.is_empty() {
            let of = format!("{} {template}", method.to_ascii_uppercase());
            let told = mistakes.into_iter();
            return Err(told
                .map(|(at, words)| (at, format!("{of}: {words}")))
                .collect());
        }
        Ok(Self {
            parameters: all,
            body,
            answers,
        })
    }

    /// The headers among its parameters.
    pub(super) fn headers(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter_map(Parameter::header)
    }

    pub(super) fn judge_parameters(
        &self,
        head: &Head<'_>,
        in_path: &[(&str, &str)],
    ) -> Result<(), Box<Refusal>> {
        let mut parameters = self.parameters.iter();
        parameters.try_for_each(|parameter| parameter.judge(head, in_path))
    }

    /// Which Content-Type a request's body has.
    pub(super) fn judge_body_type(&self, head: &Head<'_>) -> Result<Option<u32>, Box<Refusal>> {
        let Some(body) = &self.body else {
            // What no one asked for is no one's to judge.
            return Ok(None);
        };
        if is_empty(head) {
            if body.is_required {
                return Err(Refusal::new(400, "the body is missing"));
            }
            return Ok(None);
        }
        let told = Told::of_request(head).map_err(|words| Refusal::new(400, words))?;
        let found = told.content_type.and_then(|kind| body.media.find(kind));
        let Some(number) = found else {
            let words = "the OpenAPI document does not name the Content-Type";
            return Err(Refusal::new(415, words));
        };
        if body.media.is_read(number) && told.is_coded {
            return Err(Refusal::new(
                415,
                "the body is compressed and cannot be looked into",
            ));
        }
        Ok(Some(number))
    }

    /// Whether a body of that Content-Type has to be whole.
    pub(super) fn reads_body(&self, media: Option<u32>) -> bool {
        let body = self.body.as_ref().zip(media);
        body.is_some_and(|(body, number)| body.media.is_read(number))
    }

    pub(super) fn judge_body(&self, media: Option<u32>, bytes: &[u8]) -> Result<(), Box<Refusal>> {
        let Some((body, number)) = self.body.as_ref().zip(media) else {
            return Ok(());
        };
        if bytes.is_empty() && !body.is_required {
            return Ok(());
        }
        let judged = body.media.judge(number, bytes);
        judged.map_err(|words| Refusal::new(400, words))
    }

    /// Judges an answer by its head.
    pub(super) fn judge_answer(&self, head: &Head<'_>) -> Result<AnswerCheck, Box<Refusal>> {
        let status = head.status();
        let fits = |answer: &Answer| match answer.statuses {
            Statuses::One(one) => one == status,
            Statuses::Class(class) => class == status / 100,
            Statuses::Others => true,
        };
        let Some(at) = self.answers.iter().position(fits) else {
            return Err(of_answer(format!("it does not name the status {status}")));
        };
        let answer = &self.answers[at];
        for header in &answer.headers {
            header
                .judge_words(head, &[])
                .map_err(|words| of_answer(format!("a header: {words}")))?;
        }
        let has_no_body = head.framing() == Framing::None;
        if answer.media.is_empty() || has_no_body {
            return Ok(AnswerCheck {
                answer: at as u32,
                media: None,
            });
        }
        let told = Told::of(head).map_err(of_answer)?;
        let found = told.content_type.and_then(|kind| answer.media.find(kind));
        let Some(number) = found else {
            return Err(of_answer("it does not name the Content-Type"));
        };
        if answer.media.is_read(number) && told.is_coded {
            return Err(of_answer(
                "the body is compressed and cannot be looked into",
            ));
        }
        Ok(AnswerCheck {
            answer: at as u32,
            media: answer.media.is_read(number).then_some(number),
        })
    }

    /// Holds an answer's body against what its head said.
    pub(super) fn judge_answer_body(
        &self,
        check: AnswerCheck,
        body: &[u8],
    ) -> Result<(), Box<Refusal>> {
        let answer = self.answers.get(check.answer as usize);
        let Some((answer, number)) = answer.zip(check.media) else {
            return Ok(());
        };
        answer.media.judge(number, body).map_err(of_answer)
    }
}

impl Answer {
    fn compile(document: &Document, word: &str, pointer: &str) -> Result<Self, Vec<Mistake>> {
        let one = |words: &str| vec![(pointer.to_owned(), words.to_owned())];
        let statuses = match (word, word.as_bytes()) {
            ("default", _) => Statuses::Others,
            (_, [class @ b'1'..=b'5', b'X' | b'x', b'X' | b'x']) => {
                Statuses::Class(u16::from(class - b'0'))
            }
            _ => {
                let status = word.parse().ok();
                let wrong = || one("this is not a status; write for example 200, 2XX or default");
                Statuses::One(status.ok_or_else(wrong)?)
            }
        };
        let mut headers = Vec::new();
        for (name, place) in document.entries(&format!("{pointer}/headers")) {
            if !name.eq_ignore_ascii_case("content-type") {
                let place = document.resolve(&place);
                let header = Parameter::of_answer(document, &place, &name);
                headers.push(header.map_err(|wrong| vec![wrong])?);
            }
        }
        Ok(Self {
            statuses,
            headers,
            media: Media::compile(document, &format!("{pointer}/content"), Direction::Answer)?,
        })
    }
}

/// The parameters of the list at a pointer.
fn parameters(document: &Document, pointer: &str, mistakes: &mut Vec<Mistake>) -> Vec<Parameter> {
    let count = document
        .at(pointer)
        .and_then(serde_json::Value::as_array)
        .map_or(0, Vec::len);
    let mut found = Vec::new();
    for at in 0..count {
        let place = document.resolve(&format!("{pointer}/{at}"));
        match Parameter::compile(document, &place) {
            Ok(parameter) => found.extend(parameter),
            Err(wrong) => mistakes.push(wrong),
        }
    }
    found
}
