//! Adds the common headers to hyper's own responses to requests that it cannot parse. No handler
//! sees these requests, so the guard cannot add the headers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memmem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::guard::HEADERS;

const LINE_END: &str = "\r\n";

/// A connection for a single response. It adds the common headers if the first bytes of the
/// response lack them.
pub(crate) struct Headed<T> {
    stream: T,
    /// True once the beginning of the final response was passed to this connection.
    is_begun: bool,
    /// The unwritten rest of the first bytes, with the common headers added.
    unwritten: Vec<u8>,
    /// The length of the first bytes before the headers were added.
    passed: usize,
}

impl<T> Headed<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self {
            stream,
            is_begun: false,
            unwritten: Vec::new(),
            passed: 0,
        }
    }
}

/// Returns the bytes with the common headers after the status line; `None` if the head is
/// incomplete or already has a content security policy.
fn completed(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = &bytes[..memmem::find(bytes, b"\r\n\r\n")?];
    if memmem::find(head, HEADERS[0].0.as_bytes()).is_some() {
        return None;
    }
    let status_end = memmem::find(bytes, LINE_END.as_bytes())?;
    let mut all = bytes[..status_end].to_vec();
    for (name, value) in HEADERS
        .into_iter()
        .chain([("referrer-policy", "no-referrer")])
    {
        all.extend_from_slice(format!("{LINE_END}{name}: {value}").as_bytes());
    }
    all.extend_from_slice(&bytes[status_end..]);
    Some(all)
}

impl<T: AsyncRead + Unpin> AsyncRead for Headed<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Headed<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        if !own.is_begun {
            // The final response follows informational ones.
            own.is_begun = !bytes.starts_with(b"HTTP/1.1 1");
            own.unwritten = completed(bytes).unwrap_or_default();
            own.passed = bytes.len();
        }
        if own.unwritten.is_empty() {
            return Pin::new(&mut own.stream).poll_write(context, bytes);
        }
        while !own.unwritten.is_empty() {
            let written = Pin::new(&mut own.stream).poll_write(context, &own.unwritten);
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => own.unwritten.drain(..count),
            };
        }
        Poll::Ready(Ok(own.passed))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
