//! A request and its response on an HTTP/2 stream.

use gatebench_net::Io;

use super::FaultServer;
use super::request::{Job, Request, What};
use super::service::Env;
use crate::asked::Asked;
use crate::http2::{Reply, Responding, Step};
use crate::pattern;
use crate::response::Response;

/// The case determines the size of the pieces. Each piece is queued when it is due, even if the
/// client's windows still hold back earlier pieces.
#[derive(Default)]
pub(crate) struct Exchange {
    request: Request,
    /// The response in progress; `None` while the request is incomplete and after the response has
    /// ended.
    job: Option<Job>,
}

impl<'p, I: Io> Responding<I, &'p FaultServer> for Exchange {
    fn begin(&mut self, env: &mut Env<'_, 'p, I>, asked: &Asked<'_>, is_control: bool) {
        self.request = Request::of(env, asked, is_control);
        self.job = None;
    }

    // The body of a request is ignored.
    fn take_body(&mut self, _: &[u8]) -> usize {
        0
    }

    fn refuse(&mut self, response: Response) {
        self.request.what = What::AtOnce(response, Vec::new());
    }

    fn whole(&mut self, env: &mut Env<'_, 'p, I>, wire_bytes: u64) -> u64 {
        self.request.note(env, wire_bytes);
        let What::Case(case) = &self.request.what else {
            return env.now_ns;
        };
        self.job.insert(Job::begin(env, *case)).next_due_ns()
    }

    fn go_on(&mut self, env: &mut Env<'_, 'p, I>, reply: &mut Reply<'_>) -> Step {
        let is_head = self.request.is_head;
        let Some(job) = &mut self.job else {
            if let Some((head, body)) = self.request.at_once() {
                let is_all = is_head || body.is_empty();
                reply.head(&head, None, is_all);
                if !is_all {
                    reply.body(body, true);
                }
            }
            return Step::Done;
        };
        let pieces = if is_head { 1 } else { job.service.pieces() };
        let bytes = job.next_bytes();
        let is_last = job.pieces_sent + 1 >= pieces && !job.service.is_reset;
        let is_all = is_head || (is_last && bytes.is_empty());
        if job.pieces_sent == 0 {
            let (head, times) = job.head(self.request.nonce, reply.now_ns);
            reply.head(&head, times, is_all);
        }
        if !is_all {
            let mut piece = Vec::new();
            pattern::copy(&mut piece, bytes);
            reply.body(&piece, is_last);
        }
        job.pieces_sent += 1;
        if job.pieces_sent < pieces {
            return Step::Later(job.next_due_ns());
        }
        job.ended(env);
        let is_reset = job.service.is_reset;
        self.job = None;
        if is_reset { Step::Reset } else { Step::Done }
    }

    fn given_up(&mut self, env: &mut Env<'_, 'p, I>) {
        if let Some(job) = self.job.take() {
            job.abandoned(env);
        }
    }
}
