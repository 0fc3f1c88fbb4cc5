//! The shares of saturation at which `--at` measures.

use gatebench_model::study::measure::CONNECTIONS;

/// The help of `--at`.
pub(super) fn help() -> String {
    format!(
        "Also measure latency at these shares of each gateway's own saturation, for example \
         50%,70%,90%; after the load, {CONNECTIONS} connections determine the saturation of the same process"
    )
}

/// Reads a whole percentage, `50%`.
pub(super) fn percent(word: &str) -> Result<u32, String> {
    let digits = word.trim().strip_suffix('%');
    let percent = digits.and_then(|digits| digits.parse::<u32>().ok());
    percent
        .filter(|percent| (1..=99).contains(percent))
        .ok_or_else(|| "write whole percentages from 1% to 99%, for example 50%,70%,90%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_below_all() {
        assert_eq!(percent("50%"), Ok(50));
        assert_eq!(percent(" 99%"), Ok(99));
        for wrong in ["0%", "100%", "150%", "x", "50", "12.5%", "-5%", "%", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
