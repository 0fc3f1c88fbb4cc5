//! Numbers of CPUs of gateways, and the nearest published numbers.

use gatebench_model::Variant;
use gatebench_model::published::PublishedTable;

use super::measured::Measured;

/// A number of CPUs for which figures were published.
pub(super) struct Size<'a> {
    pub(super) cpus: f64,
    /// The key of its figures.
    pub(super) key: &'a str,
}

/// The number of CPUs of a gateway: its limit, or the number of its cores.
pub(super) fn cpus(measured: &Measured<'_>, variant: &Variant) -> f64 {
    let placement = &measured.run.manifest().plan.placement;
    let setup = variant.setup();
    let limit = setup.and_then(|setup| setup.limits.cpus());
    let cores = setup.map(|setup| setup.gateway_cores(placement).len());
    limit.unwrap_or(cores.unwrap_or(placement.gateway.len()) as f64)
}

/// The published number of CPUs that is nearest by ratio; in a tie, the smaller.
pub(super) fn nearest<'a>(table: &'a PublishedTable, cpus: f64) -> Option<Size<'a>> {
    let keys = table.rows.iter().flat_map(|row| row.published_of.keys());
    let sizes = keys.filter_map(|key| {
        let cpus = key.parse().ok()?;
        Some(Size { cpus, key })
    });
    let mut sizes: Vec<Size<'a>> = sizes.collect();
    sizes.sort_by(|a, b| a.cpus.total_cmp(&b.cpus));
    let away = |size: &Size<'a>| (size.cpus / cpus).ln().abs();
    let closer = |a: Size<'a>, b: Size<'a>| if away(&b) < away(&a) { b } else { a };
    sizes.into_iter().reduce(closer)
}
