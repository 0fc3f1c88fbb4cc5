//! One connection's TLS.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use rustls::{ClientConnection, Connection, HandshakeKind, ProtocolVersion, ServerConnection};

use super::{ClientContext, ServerContext, SessionError, SettingsError, Version};

/// One side of one connection. Bytes go in and out by the caller's hands:
///
/// - pass the bytes that arrive to [`Session::receive`],
/// - pass the plaintext to [`Session::send`],
/// - send the bytes that either appends to `out`, in that order, also after an error, when they
///   are the alert for the peer.
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
    /// When rustls refuses what the context was made of.
    pub fn client(context: &ClientContext, out: &mut Vec<u8>) -> Result<Self, SettingsError> {
        let (config, name) = (Arc::clone(&context.config), context.name.clone());
        let connection = ClientConnection::new(config, name)
            .map_err(|error| SettingsError::Refused(error.to_string()))?;
        let mut session = Self::new(Connection::Client(connection));
        session.write(out);
        Ok(session)
    }

    /// A server's side.
    ///
    /// # Errors
    /// When rustls refuses what the context was made of.
    pub fn server(context: &ServerContext) -> Result<Self, SettingsError> {
        let connection = ServerConnection::new(context.config())
            .map_err(|error| SettingsError::Refused(error.to_string()))?;
        Ok(Self::new(Connection::Server(connection)))
    }

    fn new(mut connection: Connection) -> Self {
        // The caller bounds the queued bytes by those that it appends to `out`.
        connection.set_buffer_limit(None);
        Self {
            connection,
            peer_closed: false,
            closed: false,
        }
    }

    /// Takes bytes that arrived. `on_plain` gets their plaintext, once per record, never empty. The
    /// reply of the handshake, and data that waited for its end, are appended to `out`.
    ///
    /// # Errors
    /// When the peer sent an alert or broke the protocol, or its certificate is not accepted.
    /// `on_plain` has then heard everything that came before; the session is over.
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
            // With all plaintext taken out, only a message beyond every bound does not fit.
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

    /// Appends `plain`, encrypted, to `out`. During the handshake it is kept and follows as soon as
    /// it may. After [`Session::close`] it is dropped.
    ///
    /// # Errors
    /// [`SessionError::KeysUsedUp`]; then close_notify is in `out`.
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
        // Once encryption has ended, rustls drops it silently.
        if out.len() - before < plain.len() && !self.is_handshaking() {
            self.closed = true;
            return Err(SessionError::KeysUsedUp);
        }
        Ok(())
    }

    /// Appends close_notify to `out`: this side sends no more. It still receives.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.closed = true;
        self.connection.send_close_notify();
        self.write(out);
    }

    /// The transport has ended (FIN).
    ///
    /// # Errors
    /// When the peer has not sent close_notify before: the handshake is not done
    /// ([`SessionError::ClosedInHandshake`]), or its message may be cut off
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

    /// Reports whether the handshake is incomplete.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Reports whether the peer has sent close_notify, after which it sends no data.
    pub fn is_closed_by_peer(&self) -> bool {
        self.peer_closed
    }

    /// The protocol agreed on, once the handshake is done.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The version agreed on, once it is.
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            _ => None,
        }
    }

    /// The cipher suite agreed on, once it is, for example `TLS13_AES_256_GCM_SHA384`.
    pub fn cipher_suite(&self) -> Option<&'static str> {
        self.connection.negotiated_cipher_suite()?.suite().as_str()
    }

    /// Reports whether an earlier session was resumed; known once the handshake is done.
    pub fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}
