//! One worker's counts, which only its thread writes and any thread may read.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::asked::{Asked, Head};

/// A count with a single writer, so adding requires no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Only the thread that owns the worker may call this.
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(amount),
            Ordering::Relaxed,
        );
    }

    /// Undoes an addition. As with [`Count::add`], only the thread that owns the worker may call
    /// this.
    pub(crate) fn take_back(&self, amount: u64) {
        self.add(amount.wrapping_neg());
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One worker's counts since it started, aligned so that no two workers share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    /// The ID of the worker's thread, for reading its CPU time; 0 until the worker runs.
    pub(crate) thread_id: AtomicI32,
    pub(crate) begun: Count,
    pub(crate) http10: Count,
    pub(crate) http2: Count,
    pub(crate) fields: Count,
    pub(crate) head_bytes: Count,
    pub(crate) body_bytes: Count,
    pub(crate) requests: Count,
    pub(crate) without_nonce: Count,
    pub(crate) unique: Count,
    pub(crate) repeated: Count,
    pub(crate) too_old: Count,
    pub(crate) untracked: Count,
    pub(crate) accepted: Count,
    pub(crate) closed: Count,
    pub(crate) bytes_in: Count,
    pub(crate) bytes_out: Count,
    pub(crate) protocol_errors: Count,
    pub(crate) tls_handshakes_failed: Count,
}

impl Counters {
    /// Counts a request whose head has arrived. It must not be called for control paths.
    pub(crate) fn begin(&self, asked: &Asked<'_>) {
        self.begun.add(1);
        match &asked.head {
            Head::Http1(head) => {
                self.http10.add(u64::from(head.version_minor() == 0));
                self.fields.add(head.fields().len() as u64);
                self.head_bytes.add(head.bytes().len() as u64);
            }
            Head::Http2(head) => {
                let fields = head.fields();
                self.http2.add(1);
                self.fields.add(fields.len() as u64);
                let sizes = fields.map(|field| field.name.len() + field.value.len());
                self.head_bytes.add(sizes.sum::<usize>() as u64);
            }
        }
    }
}
