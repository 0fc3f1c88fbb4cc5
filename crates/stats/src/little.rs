//! Little's law: the mean number of items in a system is the number of arrivals per second times
//! the mean time that an item stays.
//!
//! Source: J. D. C. Little, *A Proof for the Queuing Formula L = λW*, Operations Research 9(3),
//! 1961.

/// Returns the mean number of requests in flight, computed from the throughput and the mean
/// response time. In a closed load without think time, the result must equal the number of requests
/// that the load keeps in flight; otherwise, at least one of the three figures is wrong.
pub fn concurrency(throughput_per_second: f64, mean_ns: f64) -> f64 {
    throughput_per_second * mean_ns / 1e9
}
