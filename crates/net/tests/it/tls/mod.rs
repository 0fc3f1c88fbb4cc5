//! Tests TLS, mostly between two sessions that exchange bytes in memory.

mod certificates;
mod handshakes;
mod settings;
mod sockets;
mod streams;

use certificates::Authority;

use gatebench_net::tls::{
    ClientContext, ClientSettings, Identity, Pem, ServerContext, ServerSettings, Session,
    SessionError, Verify, Version, self_signed,
};

/// A client and a server, with the plaintext that each has received.
struct Pair {
    client: Session,
    server: Session,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    client_heard: Vec<u8>,
    server_heard: Vec<u8>,
}

impl Pair {
    fn new(client: &ClientContext, server: &ServerContext) -> Self {
        let mut to_server = Vec::new();
        Self {
            client: Session::client(client, &mut to_server).unwrap(),
            server: Session::server(server).unwrap(),
            to_client: Vec::new(),
            to_server,
            client_heard: Vec::new(),
            server_heard: Vec::new(),
        }
    }

    /// Moves bytes in both directions until neither side writes. Returns the first error of each
    /// side; the alert for an error still reaches the other side.
    fn talk(&mut self) -> (Result<(), SessionError>, Result<(), SessionError>) {
        let (mut client, mut server) = (Ok(()), Ok(()));
        while !(self.to_server.is_empty() && self.to_client.is_empty()) {
            let bytes = std::mem::take(&mut self.to_server);
            let heard = &mut self.server_heard;
            server = server.and(self.server.receive(&bytes, &mut self.to_client, |plain| {
                heard.extend_from_slice(plain);
            }));
            let bytes = std::mem::take(&mut self.to_client);
            let heard = &mut self.client_heard;
            client = client.and(self.client.receive(&bytes, &mut self.to_server, |plain| {
                heard.extend_from_slice(plain);
            }));
        }
        (client, server)
    }

    fn ready(client: &ClientContext, server: &ServerContext) -> Self {
        let mut pair = Self::new(client, server);
        assert_eq!(pair.talk(), (Ok(()), Ok(())));
        assert!(!pair.client.is_handshaking() && !pair.server.is_handshaking());
        pair
    }

    /// Sends from the client and returns what the server received.
    fn ask(&mut self, plain: &[u8]) -> Vec<u8> {
        self.client.send(plain, &mut self.to_server).unwrap();
        assert_eq!(self.talk(), (Ok(()), Ok(())));
        std::mem::take(&mut self.server_heard)
    }

    fn send_from_server(&mut self, plain: &[u8]) -> Vec<u8> {
        self.server.send(plain, &mut self.to_client).unwrap();
        assert_eq!(self.talk(), (Ok(()), Ok(())));
        std::mem::take(&mut self.client_heard)
    }
}

fn trusting(authority: &Authority) -> ClientSettings {
    ClientSettings {
        verify: Verify::Ca(authority.pem()),
        ..ClientSettings::default()
    }
}

/// Creates contexts of both sides for `localhost`, with settings that `change` has altered.
fn contexts(
    change: impl FnOnce(&mut ClientSettings, &mut ServerSettings),
) -> (ClientContext, ServerContext) {
    let authority = Authority::new("authority");
    let mut client = trusting(&authority);
    let mut server = ServerSettings::new(authority.issue(&["localhost"]));
    change(&mut client, &mut server);
    (
        ClientContext::new(&client, "localhost").unwrap(),
        ServerContext::new(&server).unwrap(),
    )
}
