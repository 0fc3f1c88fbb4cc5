//! A client's connection, whose protocol is determined by ALPN or by the first bytes.

use gatebench_net::http2::Server;
use gatebench_net::tls::Session;
use gatebench_net::{ConnId, Io};

use crate::env::{Conversation, Env, Fate, Speaker};
use crate::http2::{self, Responding};

/// The name of HTTP/2 in ALPN (RFC 9113 3.2).
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";

/// An origin that responds over HTTP/1.1 and HTTP/2.
pub(crate) trait Origin<I: Io>: Sized {
    type Http1: Conversation<I, Self>;
    /// A request and its response on an HTTP/2 stream.
    type Exchange: Responding<I, Self>;

    /// Returns the time before a deadline, in nanoseconds, during which the worker polls without
    /// sleeping, because a sleeping thread wakes up late.
    fn spin_ns(&self) -> u64 {
        0
    }
}

pub(crate) enum Connection<H, E> {
    /// The bytes received so far may be the beginning of the HTTP/2 preface.
    Undecided(ConnId, Vec<u8>),
    Http1(H),
    Http2(Box<http2::Connection<E>>),
}

pub(crate) type ConnectionOf<I, O> =
    Connection<<O as Origin<I>>::Http1, <O as Origin<I>>::Exchange>;

impl<I: Io, O, H, E> Conversation<I, O> for Connection<H, E>
where
    H: Conversation<I, O>,
    E: Responding<I, O>,
{
    fn new(id: ConnId) -> Self {
        Self::Undecided(id, Vec::new())
    }

    fn received(&mut self, env: &mut Env<'_, I, O>, bytes: &[u8]) -> Fate {
        match self {
            Self::Http1(conn) => conn.received(env, bytes),
            Self::Http2(conn) => conn.received(env, bytes),
            Self::Undecided(id, begun) if begun.is_empty() => {
                let id = *id;
                self.begin(env, id, bytes)
            }
            Self::Undecided(id, begun) => {
                begun.extend_from_slice(bytes);
                let (id, begun) = (*id, std::mem::take(begun));
                self.begin(env, id, &begun)
            }
        }
    }

    fn sent(&mut self, env: &mut Env<'_, I, O>, bytes: Vec<u8>) -> Fate {
        match self {
            Self::Http1(conn) => conn.sent(env, bytes),
            Self::Http2(conn) => conn.sent(env, bytes),
            Self::Undecided(..) => Fate::Keep,
        }
    }

    fn due(&mut self, env: &mut Env<'_, I, O>) -> Fate {
        match self {
            Self::Http1(conn) => conn.due(env),
            Self::Http2(conn) => conn.due(env),
            Self::Undecided(..) => Fate::Keep,
        }
    }

    fn end_of_stream(&mut self, env: &mut Env<'_, I, O>) -> Fate {
        match self {
            Self::Http1(conn) => conn.end_of_stream(env),
            Self::Http2(conn) => conn.end_of_stream(env),
            Self::Undecided(..) => Fate::Close,
        }
    }

    fn gone(&mut self, env: &mut Env<'_, I, O>) -> Option<Speaker> {
        match self {
            Self::Http1(conn) => conn.gone(env),
            Self::Http2(conn) => conn.gone(env),
            Self::Undecided(..) => None,
        }
    }
}

impl<H, E> Connection<H, E> {
    fn begin<I: Io, O>(&mut self, env: &mut Env<'_, I, O>, id: ConnId, bytes: &[u8]) -> Fate
    where
        H: Conversation<I, O>,
        E: Responding<I, O>,
    {
        let agreed = env.io.session(id).and_then(Session::alpn);
        let is_http2 = match agreed {
            Some(protocol) => Some(protocol == ALPN_HTTP2),
            None => Server::recognizes(bytes),
        };
        *self = match is_http2 {
            Some(true) => Self::Http2(Box::new(http2::Connection::new(id))),
            Some(false) => Self::Http1(H::new(id)),
            None => Self::Undecided(id, bytes.to_vec()),
        };
        match self {
            Self::Http1(conn) => conn.received(env, bytes),
            Self::Http2(conn) => conn.received(env, bytes),
            Self::Undecided(..) => Fate::Keep,
        }
    }
}
