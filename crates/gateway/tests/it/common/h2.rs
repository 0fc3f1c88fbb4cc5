//! A client of HTTP/2 that sends what a test says.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gatebench_net::http2::{Block, Client, Event, Limits, Settings, StreamId};

/// An answer, or that the stream was reset.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
    pub is_whole: bool,
    pub is_reset: bool,
}

/// A connection of HTTP/2 that sends what a test says.
pub struct Connection {
    pub socket: TcpStream,
    pub client: Client,
    pub out: Vec<u8>,
    pub answers: HashMap<u32, Answer>,
    /// The server has said that the connection ends.
    pub is_ending: bool,
}

impl Connection {
    pub fn open(address: SocketAddr, settings: Settings) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let client = Client::new(settings, Limits::default());
        let mut out = Vec::new();
        client.preface(&mut out);
        Self {
            socket,
            client,
            out,
            answers: HashMap::new(),
            is_ending: false,
        }
    }

    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) -> StreamId {
        let mut block = Block::request(method, "http", "example", path);
        for (name, value) in fields {
            block.field(name, value.as_bytes());
        }
        self.client.request(&block, body, &mut self.out).unwrap()
    }

    /// Sends what is queued, then reads until `enough` says so, or the peer closes.
    pub fn until(&mut self, enough: impl Fn(&HashMap<u32, Answer>) -> bool) {
        loop {
            self.socket.write_all(&self.out).unwrap();
            self.out.clear();
            if enough(&self.answers) {
                return;
            }
            let mut bytes = [0; 65536];
            match self.socket.read(&mut bytes) {
                Ok(0) => return,
                Ok(length) => self.read(&bytes[..length]),
                // io_uring's work is done in whatever call its process is in, and ends that.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the gateway's answer: {error}"),
            }
        }
    }

    pub fn read(&mut self, mut input: &[u8]) {
        while let Ok(Some(event)) = self.client.next(&mut input, &mut self.out) {
            match event {
                Event::Head { stream, head } => {
                    let answer = self.answers.entry(stream.number()).or_default();
                    answer.status = head.status();
                    for field in head.fields() {
                        let value = String::from_utf8(field.value.to_vec()).unwrap();
                        answer.fields.insert(field.name.to_owned(), value);
                    }
                }
                Event::Body { stream, bytes } => {
                    let answer = self.answers.entry(stream.number()).or_default();
                    answer.body.extend_from_slice(bytes);
                }
                Event::End { stream } => {
                    self.answers.entry(stream.number()).or_default().is_whole = true;
                }
                Event::Reset { stream, .. } => {
                    self.answers.entry(stream.number()).or_default().is_reset = true;
                }
                Event::GoAway { .. } => self.is_ending = true,
                _ => {}
            }
        }
    }

    pub fn answer(&mut self, stream: StreamId) -> Answer {
        let number = stream.number();
        let is_over = |answer: &Answer| answer.is_whole || answer.is_reset;
        self.until(|answers| answers.get(&number).is_some_and(is_over));
        self.answers.remove(&number).unwrap_or_default()
    }
}
