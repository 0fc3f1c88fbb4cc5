//! Parsers for the limits of CPU and memory.

use gatebench_model::Limits;
use gatebench_model::setup::MILLIS_PER_CPU;

use crate::commands::values::in_units;

/// The kernel requires at least one millisecond of each 100 ms period.
const CPU_MILLIS_MIN: u32 = 10;
/// More than the largest machines have.
const CPUS_MAX: f64 = 4_096.0;

/// Reads a number of CPUs, `0.5`.
pub(super) fn cpu_millis(word: &str) -> Result<u32, String> {
    let cpus: f64 = word
        .parse()
        .map_err(|_| "write a number of CPUs, for example 0.5 or 2".to_owned())?;
    let millis = (cpus * f64::from(MILLIS_PER_CPU)).round();
    if (0.0..=CPUS_MAX).contains(&cpus) && millis >= f64::from(CPU_MILLIS_MIN) {
        Ok(millis as u32)
    } else {
        Err("a control group grants at least 0.01 CPU: write 0.01 or more".into())
    }
}

/// Reads an amount of memory, `256M`, in binary units.
pub(super) fn bytes(word: &str) -> Result<u64, String> {
    let word = word.to_ascii_lowercase();
    let word = word.strip_suffix("ib").unwrap_or(&word);
    in_units(word, &[("g", 30), ("m", 20), ("k", 10)])
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write a size with a unit, for example 256M or 1G".into())
}

/// Combines each number of CPUs with each amount of memory.
pub(super) fn all(cpu_millis: &[u32], memory_bytes: &[u64]) -> Vec<Limits> {
    let cpus = some_or_none(cpu_millis);
    let memories = some_or_none(memory_bytes);
    let with_each_memory = |cpu_millis: Option<u32>| {
        memories.iter().map(move |&memory_bytes| Limits {
            cpu_millis,
            memory_bytes,
        })
    };
    let sizes = cpus.into_iter().flat_map(with_each_memory);
    sizes.filter(|limits| !limits.is_none()).collect()
}

/// Returns each amount, or a single none if there are no amounts.
fn some_or_none<T: Copy>(amounts: &[T]) -> Vec<Option<T>> {
    if amounts.is_empty() {
        vec![None]
    } else {
        amounts.iter().copied().map(Some).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(cpu_millis("0.5"), Ok(500));
        assert_eq!(cpu_millis("16"), Ok(16_000));
        for wrong in ["0", "-1", "x", "inf", "nan", "1e9"] {
            assert!(cpu_millis(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bytes("256M"), Ok(256 << 20));
        assert_eq!(bytes("1gib"), Ok(1 << 30));
        for wrong in ["256", "0M", "M", "1T", "99999999999999999999G", "1é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_number_of_cpus_has_every_amount_of_memory() {
        assert!(all(&[], &[]).is_empty());
        let written =
            |sizes: Vec<Limits>| sizes.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(written(all(&[500, 1_000], &[])), ["0.5 CPU", "1 CPU"]);
        assert_eq!(written(all(&[500], &[1 << 20])), ["0.5 CPU and 1 MiB"]);
        assert_eq!(written(all(&[], &[1 << 20])), ["1 MiB"]);
    }
}
