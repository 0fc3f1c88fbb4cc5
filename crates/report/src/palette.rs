//! Assigns each variant a color, which is the same throughout a report. The colors are custom
//! properties in the style sheet, chosen to be distinguishable for color-blind readers and to
//! contrast with both backgrounds.

/// The number of colors for gateways. With more gateways, some share a color, but the gateway's
/// name appears next to the color.
const COLORS: usize = 7;

/// Maps each variant to the CSS class of its color.
#[derive(Clone, Debug)]
pub struct Palette {
    variants: Vec<String>,
}

impl Palette {
    /// Assigns colors in the order of these labels; the direct variant is gray.
    pub fn of_labels(labels: &[&str]) -> Self {
        let gateways = labels.iter().filter(|label| **label != DIRECT);
        let variants = gateways.map(|label| (*label).to_owned()).collect();
        Self { variants }
    }

    /// Returns the CSS class that sets the variant's color. Unknown variants are gray, like the
    /// direct variant.
    pub fn class(&self, variant: &str) -> String {
        match self.variants.iter().position(|known| known == variant) {
            Some(index) => format!("v{}", index % COLORS + 1),
            None => "v0".into(),
        }
    }
}

/// The label of the direct path from the load generator to the upstream.
pub const DIRECT: &str = "direct";
