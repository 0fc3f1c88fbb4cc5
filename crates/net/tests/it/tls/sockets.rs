//! Tests TLS over real sockets, between our server and our client, and between our client and
//! OpenSSL's server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{receive, until};
use gatebench_net::tls::{
    ClientContext, ClientSettings, Identity, ServerContext, ServerSettings, Session, Verify,
    Version, self_signed,
};
use gatebench_net::{Backend, ConnId, Event, Io, IoTask, Outbox, SMALL_BYTES, TlsIo, choose, run};

const LOOPBACK: &str = "127.0.0.1:0";

/// epoll, and io_uring if this kernel allows it; `GATEBENCH_REQUIRE_URING=1` requires io_uring.
fn backends() -> Vec<Backend> {
    if choose(None) == Backend::Uring {
        return vec![Backend::Epoll, Backend::Uring];
    }
    assert!(
        std::env::var_os("GATEBENCH_REQUIRE_URING").is_none_or(|it| it != "1"),
        "this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 demands"
    );
    eprintln!("SKIPPED on io_uring, which this kernel refuses");
    vec![Backend::Epoll]
}

fn trusting(identity: &Identity) -> ClientSettings {
    ClientSettings {
        verify: Verify::Ca(identity.chain.clone()),
        ..ClientSettings::default()
    }
}

/// Our client on a blocking socket.
struct Client {
    stream: TcpStream,
    session: Session,
    heard: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr, context: &ClientContext) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).unwrap();
        let mut hello = Vec::new();
        let session = Session::client(context, &mut hello).unwrap();
        (&stream).write_all(&hello).unwrap();
        Self {
            stream,
            session,
            heard: Vec::new(),
        }
    }

    fn say(&mut self, plain: &[u8]) {
        let mut out = Vec::new();
        self.session.send(plain, &mut out).unwrap();
        self.stream.write_all(&out).unwrap();
    }

    /// Receives once; returns `false` at the end of the stream.
    fn hear(&mut self) -> bool {
        let (mut bytes, mut out) = (vec![0; 100_000], Vec::new());
        let len = receive(&mut self.stream, &mut bytes);
        let heard = &mut self.heard;
        self.session
            .receive(&bytes[..len], &mut out, |plain| {
                heard.extend_from_slice(plain)
            })
            .unwrap();
        self.stream.write_all(&out).unwrap();
        len > 0
    }
}

/// Runs a server's side on each available backend while `client` runs on a thread.
fn serve<S: Serve + Copy>(side: S, client: fn(SocketAddr, ClientContext)) {
    for backend in backends() {
        let identity = self_signed(&["localhost"]).unwrap();
        let trusting = ClientContext::new(&trusting(&identity), "localhost").unwrap();
        let context = ServerContext::new(&ServerSettings::new(identity)).unwrap();
        let task = Server {
            side,
            context,
            trusting,
            client,
        };
        run(Some(backend), task).unwrap();
    }
}

trait Serve {
    fn serve<I: Io>(self, io: &mut I, conn: ConnId);
}

struct Server<S> {
    side: S,
    context: ServerContext,
    trusting: ClientContext,
    client: fn(SocketAddr, ClientContext),
}

impl<S: Serve> IoTask for Server<S> {
    type Output = ();
    fn run<I: Io>(self, io: I) {
        let mut io = TlsIo::new(io, self.context);
        let (_, address) = io.listen(LOOPBACK.parse().unwrap(), false).unwrap();
        let (client, trusting) = (self.client, self.trusting);
        let thread = std::thread::spawn(move || client(address, trusting));
        let conn = until(&mut io, |_, event| match event {
            Event::Accepted { conn, .. } => Some(conn),
            _ => None,
        });
        self.side.serve(&mut io, conn);
        drop(io);
        thread.join().unwrap();
    }
}

const MANY: usize = 3_000_000;

fn many() -> Vec<u8> {
    (0..MANY).map(|n| (n % 251) as u8).collect()
}

#[derive(Clone, Copy)]
struct Echo;

impl Serve for Echo {
    fn serve<I: Io>(self, io: &mut I, conn: ConnId) {
        let mut got = Vec::new();
        until(io, |_, event| match event {
            Event::Received { bytes, .. } => {
                got.extend_from_slice(&bytes);
                (got.len() == MANY).then_some(())
            }
            _ => None,
        });
        assert!(got == many());
        assert!(
            io.send(conn, got).is_none(),
            "a large send is followed by its event"
        );
        let back = until(io, |_, event| match event {
            Event::Sent { bytes, .. } => Some(bytes),
            _ => None,
        });
        assert!(back == many(), "the vector is returned unchanged");
        let small = vec![b'.'; SMALL_BYTES / 2];
        assert_eq!(
            io.send_now(conn, small.clone()),
            Some(small),
            "a small send completes at once"
        );
        io.shutdown(conn);
        until(io, |_, event| {
            matches!(event, Event::EndOfStream { .. }).then_some(())
        });
        io.close(conn);
    }
}

#[test]
fn large_data_passes_both_ways_and_both_close_cleanly() {
    serve(Echo, |address, context| {
        let mut client = Client::connect(address, &context);
        client.say(&many());
        while client.hear() {}
        assert_eq!(client.heard.len(), MANY + SMALL_BYTES / 2);
        assert!(client.heard[..MANY] == many());
        assert_eq!(client.session.end_of_stream(), Ok(()));
        let mut goodbye = Vec::new();
        client.session.close(&mut goodbye);
        // A failure does not matter, because the server also accepts FIN without close_notify.
        let _ = client.stream.write_all(&goodbye);
    });
}

#[derive(Clone, Copy)]
struct Refuse;

impl Serve for Refuse {
    fn serve<I: Io>(self, io: &mut I, conn: ConnId) {
        let error = until(io, |_, event| match event {
            Event::Failed { conn: it, error } if it == conn => Some(error),
            Event::Received { .. } | Event::EndOfStream { .. } => panic!("{event:?}"),
            _ => None,
        });
        assert!(error.to_string().contains("TLS"), "{error}");
        io.close(conn);
    }
}

#[test]
fn a_client_without_tls_fails_and_gets_an_alert() {
    serve(Refuse, |address, _| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        assert_eq!(response[0], 21, "an alert record: {response:?}");
    });
}

#[test]
fn a_client_that_disconnects_during_the_handshake_fails() {
    serve(Refuse, |address, context| {
        let client = Client::connect(address, &context);
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = (&client.stream).read_to_end(&mut Vec::new());
    });
}

#[derive(Clone, Copy)]
struct Leave;

impl Serve for Leave {
    fn serve<I: Io>(self, io: &mut I, conn: ConnId) {
        until(io, |_, event| {
            matches!(event, Event::Received { .. }).then_some(())
        });
        io.close(conn);
        let mut events = Vec::new();
        io.poll(Some(0), &mut events).unwrap();
        assert!(
            events.is_empty(),
            "a closed connection is silent: {events:?}"
        );
    }
}

#[test]
fn closing_sends_close_notify() {
    serve(Leave, |address, context| {
        let mut client = Client::connect(address, &context);
        client.say(b"hello");
        while client.hear() {}
        assert_eq!(client.session.end_of_stream(), Ok(()));
    });
}

/// `openssl s_server -www`, which responds to GET with a page about the session.
struct OpenSsl {
    child: Child,
    port: u16,
}

impl OpenSsl {
    fn start(identity: &Identity, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = (
            folder.path().join("cert.pem"),
            folder.path().join("key.pem"),
        );
        std::fs::write(&cert, &identity.chain.bytes).unwrap();
        std::fs::write(&key, &identity.key.bytes).unwrap();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-www", "-accept", LOOPBACK, "-cert"]);
        command.arg(&cert).arg("-key").arg(&key).args(options);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is missing; run scripts/install-test-deps");
        let output = BufReader::new(child.stdout.take().unwrap());
        // OpenSSL prints a line such as `ACCEPT 127.0.0.1:40123` once it has read its files and
        // listens.
        let port = output.lines().map(Result::unwrap).find_map(|line| {
            let address: SocketAddr = line.strip_prefix("ACCEPT ")?.parse().ok()?;
            Some(address.port())
        });
        let port = port.expect("openssl s_server prints where it listens");
        Self { child, port }
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request to OpenSSL's server over our loop; returns the TLS version, whether a session
/// was resumed, and the response.
struct Ask<'a> {
    port: u16,
    context: &'a ClientContext,
}

impl IoTask for Ask<'_> {
    type Output = (Version, bool, String);

    fn run<I: Io>(self, mut io: I) -> Self::Output {
        let peer = SocketAddr::from(([127, 0, 0, 1], self.port));
        let conn = io.connect(peer, None).unwrap();
        let (mut outbox, mut heard) = (Outbox::default(), Vec::new());
        let mut session = Session::client(self.context, outbox.queue()).unwrap();
        session
            .send(b"GET / HTTP/1.0\r\n\r\n", outbox.queue())
            .unwrap();
        until(&mut io, |io, event| {
            match event {
                Event::Received { bytes, .. } => session
                    .receive(&bytes, outbox.queue(), |plain| {
                        heard.extend_from_slice(plain)
                    })
                    .unwrap(),
                Event::Sent { bytes, .. } => outbox.sent(bytes),
                Event::EndOfStream { .. } => return Some(()),
                Event::Failed { error, .. } => panic!("{error}"),
                Event::Accepted { .. } | Event::Connected { .. } => {}
            }
            outbox.flush(io, conn, true);
            // After sending close_notify, OpenSSL waits for the client's FIN.
            session.is_closed_by_peer().then_some(())
        });
        session.end_of_stream().unwrap();
        io.close(conn);
        let text = String::from_utf8(heard).unwrap();
        (session.version().unwrap(), session.resumed(), text)
    }
}

#[test]
fn our_client_connects_to_openssl_in_both_versions() {
    let identity = self_signed(&["localhost"]).unwrap();
    for (version, option) in [(Version::Tls12, "-tls1_2"), (Version::Tls13, "-tls1_3")] {
        let server = OpenSsl::start(&identity, &[option]);
        for backend in backends() {
            let context = ClientContext::new(&trusting(&identity), "localhost").unwrap();
            for resumed in [false, true] {
                let ask = Ask {
                    port: server.port,
                    context: &context,
                };
                let response = run(Some(backend), ask).unwrap();
                assert_eq!((response.0, response.1), (version, resumed));
                let protocol = format!("Protocol  : TLSv{version}");
                assert!(response.2.contains(&protocol), "{}", response.2);
            }
        }
    }
}
