//! An origin that reads requests with its own reader, records them, and responds.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::reader::{self, Request};

#[derive(Clone, Debug)]
pub enum Record {
    Whole(Request),
    /// The beginning of a request whose connection ended before the request was complete.
    Cut(Vec<u8>),
    /// Bytes that are not a request, and the reason.
    Unreadable(Vec<u8>, String),
}

pub type Response = fn(&Request) -> Vec<u8>;

pub struct Origin {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    records: Mutex<Vec<Record>>,
    open: AtomicUsize,
}

/// The request that [`Origin::records`] itself sends on the last connection.
const FENCE: &[u8] = b"GET /fence HTTP/1.1\r\nHost: h\r\n\r\n";

impl Origin {
    /// Starts the origin, which runs until the process ends.
    pub fn start(response: Response) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), shared) = (stream, Arc::clone(&theirs)) else {
                    continue;
                };
                shared.open.fetch_add(1, Ordering::AcqRel);
                std::thread::spawn(move || {
                    converse(stream, &shared.records, response);
                    shared.open.fetch_sub(1, Ordering::AcqRel);
                });
            }
        });
        Self { address, shared }
    }

    /// Returns everything that was received. Call it after the gateway and its connections have
    /// ended.
    pub fn records(&self) -> Vec<Record> {
        // Connections are accepted in order, so those of the gateway are accepted before this one.
        let mut fence = TcpStream::connect(self.address).unwrap();
        fence.write_all(FENCE).unwrap();
        fence.read_exact(&mut [0]).unwrap();
        drop(fence);
        let begun = Instant::now();
        while self.shared.open.load(Ordering::Acquire) > 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "a connection stays open"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut records = self.shared.records.lock().unwrap().clone();
        records.retain(|it| !matches!(it, Record::Whole(request) if request.target == "/fence"));
        records
    }
}

/// Repeats the target in the response, so that a client can match responses to requests.
pub fn echo(request: &Request) -> Vec<u8> {
    let number = request.field("v").unwrap_or(b"-");
    let head = &b"HTTP/1.1 204 No Content\r\nT: "[..];
    [
        head,
        request.target.as_bytes(),
        b"\r\nV: ",
        number,
        b"\r\n\r\n",
    ]
    .concat()
}

fn converse(mut stream: TcpStream, records: &Mutex<Vec<Record>>, response: Response) {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..length]);
        loop {
            match reader::read(&bytes) {
                Ok(None) => break,
                Ok(Some((request, length))) => {
                    bytes.drain(..length);
                    let said = response(&request);
                    records.lock().unwrap().push(Record::Whole(request));
                    if stream.write_all(&said).is_err() {
                        return;
                    }
                }
                Err(why) => {
                    records.lock().unwrap().push(Record::Unreadable(bytes, why));
                    return;
                }
            }
        }
    }
    if !bytes.is_empty() {
        records.lock().unwrap().push(Record::Cut(bytes));
    }
}
