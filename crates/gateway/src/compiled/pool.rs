//! Connections to targets that wait for their next request. The one used last is used next: it is
//! the least likely to be closed by the other side, and surplus connections age.

use gatebench_net::ConnId;

/// The idle connections of one worker, by target.
#[derive(Debug, Default)]
pub(crate) struct Pools(Vec<Vec<ConnId>>);

impl Pools {
    /// Adds entries up to this number of targets.
    pub(crate) fn grow(&mut self, targets: usize) {
        self.0.resize_with(targets.max(self.0.len()), Vec::new);
    }

    pub(crate) fn take(&mut self, target: usize) -> Option<ConnId> {
        self.0[target].pop()
    }

    /// Keeps a connection; returns false if there are enough.
    pub(crate) fn put(&mut self, target: usize, conn: ConnId, keepalive: usize) -> bool {
        let has_room = self.0[target].len() < keepalive;
        if has_room {
            self.0[target].push(conn);
        }
        has_room
    }

    /// Removes a connection that has been closed.
    pub(crate) fn forget(&mut self, target: usize, conn: ConnId) {
        self.0[target].retain(|idle| *idle != conn);
    }

    /// Removes and returns all connections to a target.
    pub(crate) fn empty(&mut self, target: usize) -> Vec<ConnId> {
        std::mem::take(&mut self.0[target])
    }
}
