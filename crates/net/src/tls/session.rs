//! The TLS state of one connection.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use rustls::{ClientConnection, Connection, HandshakeKind, ProtocolVersion, ServerConnection};

use super::{ClientContext, ServerContext, SessionError, SettingsError, Version};

/// One side of one connection. The caller moves the bytes:
///
/// - pass the bytes that arrive to [`Session::receive`],
/// - pass the plaintext to [`Session::send`],
/// - send the bytes that each call appends to `out`, in order, even after an error: in that case,
///   they may contain the alert for the peer.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    peer_closed: bool,
    closed: bool,
}

impl Session {
    /// A client's side. Its first message is appended to `out`.
    ///
    /// # Errors
    /// rustls refuses the settings of the context.
    pub fn client(context: &ClientContext, out: &mut Vec<u8>) -> Result<Self, SettingsError> {
        let (config, name) = (Arc::clone(&context.config), context.name.clone());
        let connection = ClientConnection::new(config, name)
            .map_err(|error| SettingsError::Refused(error.to_string()))?;
        let mut session = Self::new(Connection::Client(connection));
        session.write(out);
        Ok(session)
    }

    /// # Errors
    /// rustls refuses the settings of the context.
    pub fn server(context: &ServerContext) -> Result<Self, SettingsError> {
        let connection = ServerConnection::new(context.config())
            .map_err(|error| SettingsError::Refused(error.to_string()))?;
        Ok(Self::new(Connection::Server(connection)))
    }

    fn new(mut connection: Connection) -> Self {
        // No limit is needed here: the caller decides how much it sends.
        connection.set_buffer_limit(None);
        Self {
            connection,
            peer_closed: false,
            closed: false,
        }
    }

    /// Processes received bytes. `on_plain` is called with each piece of plaintext, which is never
    /// empty. Outgoing handshake messages and alerts, and data that waited for the end of the
    /// handshake, are appended to `out`.
    ///
    /// # Errors
    /// The peer sent a fatal alert or violated the protocol, its certificate is not accepted, or
    /// the two sides have nothing in common. In these cases, `on_plain` has received everything
    /// that came before, and the session is over.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        mut on_plain: impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        let result = self.read(bytes, &mut on_plain);
        self.write(out);
        result
    }

    fn read(
        &mut self,
        mut bytes: &[u8],
        on_plain: &mut impl FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        while !bytes.is_empty() && !self.peer_closed {
            // All plaintext has been removed, so the buffer is too small only for a message that
            // exceeds every limit.
            self.connection
                .read_tls(&mut bytes)
                .map_err(|error| SessionError::Protocol(error.to_string()))?;
            let result = self.connection.process_new_packets();
            let mut reader = self.connection.reader();
            while let Ok(plain) = reader.fill_buf()
                && !plain.is_empty()
            {
                on_plain(plain);
                let heard = plain.len();
                reader.consume(heard);
            }
            self.peer_closed = result?.peer_has_closed();
        }
        Ok(())
    }

    /// Appends `plain`, encrypted, to `out`. Until the handshake allows this, `plain` is kept, and
    /// [`Session::receive`] appends it later. After [`Session::close`], `plain` is dropped.
    ///
    /// # Errors
    /// [`SessionError::KeysUsedUp`]. In this case, `out` contains close_notify.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        if self.closed {
            return Ok(());
        }
        let before = out.len();
        self.connection
            .writer()
            .write_all(plain)
            .map_err(|error| SessionError::Protocol(error.to_string()))?;
        self.write(out);
        // Once the keys are used up, rustls drops the plaintext silently.
        if out.len() - before < plain.len() && !self.is_handshaking() {
            self.closed = true;
            return Err(SessionError::KeysUsedUp);
        }
        Ok(())
    }

    /// Appends close_notify to `out`: this side sends no more, but still receives.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.closed = true;
        self.connection.send_close_notify();
        self.write(out);
    }

    /// Handles the end of the transport (FIN).
    ///
    /// # Errors
    /// The peer has not sent close_notify: the handshake is not complete
    /// ([`SessionError::ClosedInHandshake`]), or its data may be truncated
    /// ([`SessionError::Truncated`]).
    pub fn end_of_stream(&self) -> Result<(), SessionError> {
        match (self.peer_closed, self.is_handshaking()) {
            (true, _) => Ok(()),
            (false, true) => Err(SessionError::ClosedInHandshake),
            (false, false) => Err(SessionError::Truncated),
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection
                .write_tls(out)
                .expect("writing to a vector does not fail");
        }
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Reports whether the peer has sent close_notify, after which it sends no data.
    pub fn is_closed_by_peer(&self) -> bool {
        self.peer_closed
    }

    /// The negotiated protocol, once the handshake is complete.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The negotiated version, once it is known.
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            _ => None,
        }
    }

    /// Reports whether an earlier session was resumed; known once the handshake is complete.
    pub fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}
