//! A server that misbehaves as a pathology defines, with a thread per connection. The server ends
//! with the process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

pub trait Pathology: Fn(&mut Connection) + Send + Sync + 'static {}
impl<F: Fn(&mut Connection) + Send + Sync + 'static> Pathology for F {}

pub struct Server {
    pub address: SocketAddr,
}

pub struct Connection {
    pub stream: TcpStream,
    /// The number of the connection, from 0.
    pub number: u64,
}

impl Server {
    pub fn start(pathology: Arc<impl Pathology>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = AtomicU64::new(0);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = accepted.fetch_add(1, Ordering::Relaxed);
                let pathology = Arc::clone(&pathology);
                thread::spawn(move || pathology(&mut Connection { stream, number }));
            }
        });
        Self { address }
    }
}

impl Connection {
    /// Reads a head up to its empty line. Returns false if there is no further head.
    pub fn request(&mut self) -> bool {
        let mut last = [0; 4];
        let mut byte = [0];
        while self.stream.read_exact(&mut byte).is_ok() {
            last.rotate_left(1);
            last[3] = byte[0];
            if last == *b"\r\n\r\n" {
                return true;
            }
        }
        false
    }

    /// Returns false if the client is gone.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Writes `piece` repeatedly until the client is gone or at least `bytes_max` bytes are
    /// written.
    pub fn flood(&mut self, piece: &[u8], bytes_max: u64) {
        let block = piece.repeat(65_536_usize.div_ceil(piece.len()));
        let mut written = 0;
        while written < bytes_max && self.write(&block) {
            written += block.len() as u64;
        }
    }

    /// Makes the later close of the connection send RST instead of FIN.
    pub fn reset(&self) {
        set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    /// Sends nothing more until the client is gone.
    pub fn fall_silent(&mut self) {
        let mut rest = [0; 4096];
        while self.stream.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
    }
}

pub fn always(response: impl AsRef<[u8]> + Send + Sync + 'static) -> impl Pathology {
    move |it: &mut Connection| while it.request() && it.write(response.as_ref()) {}
}

pub fn once(response: &'static [u8]) -> impl Pathology {
    move |it: &mut Connection| {
        let _ = it.request() && it.write(response);
    }
}
