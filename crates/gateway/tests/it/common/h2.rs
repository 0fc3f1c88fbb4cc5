//! An HTTP/2 client that sends and reads only when a test asks it to.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gatebench_net::http2::{Block, Client, Event, Limits, Settings, StreamId};

/// A response, or the reset of its stream.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
    pub is_whole: bool,
    pub is_reset: bool,
}

/// An HTTP/2 connection, with the responses received so far by stream number.
pub struct Connection {
    pub socket: TcpStream,
    pub client: Client,
    pub out: Vec<u8>,
    pub responses: HashMap<u32, Response>,
    /// True once the server has sent GOAWAY.
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
            responses: HashMap::new(),
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

    /// Sends the queued bytes, then reads until `enough` returns true or the peer closes.
    pub fn until(&mut self, enough: impl Fn(&HashMap<u32, Response>) -> bool) {
        loop {
            self.socket.write_all(&self.out).unwrap();
            self.out.clear();
            if enough(&self.responses) {
                return;
            }
            let mut bytes = [0; 65536];
            match self.socket.read(&mut bytes) {
                Ok(0) => return,
                Ok(length) => self.read(&bytes[..length]),
                // The kernel may interrupt the call to run io_uring work.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the gateway's response: {error}"),
            }
        }
    }

    pub fn read(&mut self, mut input: &[u8]) {
        while let Ok(Some(event)) = self.client.next(&mut input, &mut self.out) {
            match event {
                Event::Head { stream, head } => {
                    let response = self.responses.entry(stream.number()).or_default();
                    response.status = head.status();
                    for field in head.fields() {
                        let value = String::from_utf8(field.value.to_vec()).unwrap();
                        response.fields.insert(field.name.to_owned(), value);
                    }
                }
                Event::Body { stream, bytes } => {
                    let response = self.responses.entry(stream.number()).or_default();
                    response.body.extend_from_slice(bytes);
                }
                Event::End { stream } => {
                    self.responses.entry(stream.number()).or_default().is_whole = true;
                }
                Event::Reset { stream, .. } => {
                    self.responses.entry(stream.number()).or_default().is_reset = true;
                }
                Event::GoAway { .. } => self.is_ending = true,
                _ => {}
            }
        }
    }

    pub fn response(&mut self, stream: StreamId) -> Response {
        let number = stream.number();
        let is_over = |response: &Response| response.is_whole || response.is_reset;
        self.until(|responses| responses.get(&number).is_some_and(is_over));
        self.responses.remove(&number).unwrap_or_default()
    }
}
