//! Connections to clients that may stop reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection whose writes fail if the client accepts no byte for some time.
pub(crate) struct Impatient<T> {
    stream: T,
    patience: Duration,
    /// Set while a write waits for the client.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<T> Impatient<T> {
    pub(crate) fn new(stream: T, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            deadline: None,
        }
    }

    /// Returns the result of a write, or an error if the writes have waited for too long.
    fn limited<R>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let patience = self.patience;
        let deadline = &mut self.deadline;
        let deadline = deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        let expired = deadline.as_mut().poll(context);
        expired.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Impatient<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Impatient<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write(context, bytes);
        own.limited(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let flushed = Pin::new(&mut own.stream).poll_flush(context);
        own.limited(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read as _;
    use std::net;

    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    /// Writes until a write has to wait for this time. Returns the number of bytes written.
    async fn fill(stream: &mut Impatient<TcpStream>, wait: Duration) -> io::Result<usize> {
        let mut bytes = 0;
        loop {
            let write = poll_fn(|it| Pin::new(&mut *stream).poll_write(it, &[0; 1 << 16]));
            match timeout(wait, write).await {
                Ok(written) => bytes += written?,
                Err(_) => return Ok(bytes),
            }
        }
    }

    #[test]
    fn a_client_that_stops_reading_loses_its_connection_and_one_that_pauses_does_not() {
        let listener = net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let stream = TcpStream::from_std(stream).unwrap();
            let mut stream = Impatient::new(stream, PATIENCE);
            // Together, the pauses take longer than a single pause may take.
            for _ in 0..3 {
                let bytes = fill(&mut stream, PATIENCE * 2 / 5).await.unwrap();
                client.read_exact(&mut vec![0; bytes]).unwrap();
            }
            let stopped = fill(&mut stream, PATIENCE * 10).await;
            assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
