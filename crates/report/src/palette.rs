//! Assigns one colour to each variant, the same throughout a report. The colours are custom
//! properties in the style sheet, chosen to be distinguishable for colour-blind readers and to
//! contrast with both backgrounds.

/// If there are more gateways than this, some share a colour; the gateways' names are always next
/// to the colour.
const COLOURS: usize = 7;

/// The CSS class of each variant.
#[derive(Clone, Debug)]
pub struct Palette {
    variants: Vec<String>,
}

impl Palette {
    /// Assigns colours in the order of these labels; the direct variant is grey.
    pub fn of_labels(labels: &[&str]) -> Self {
        let gateways = labels.iter().filter(|label| **label != DIRECT);
        let variants = gateways.map(|label| (*label).to_owned()).collect();
        Self { variants }
    }

    /// The CSS class that sets the variant's colour.
    pub fn class(&self, variant: &str) -> String {
        match self.variants.iter().position(|known| known == variant) {
            Some(index) => format!("v{}", index % COLOURS + 1),
            None => "v0".into(),
        }
    }
}

/// The label of the direct path from load generator to upstream.
pub const DIRECT: &str = "direct";
