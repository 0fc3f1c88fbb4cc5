//! One colour per variant, the same everywhere in a report. The colours themselves are custom
//! properties of the page's style sheet, chosen to stay apart for colour-blind readers and to keep
//! the contrast of text on both backgrounds.

/// Gateways beyond this many share colours; their names are always next to them.
const COLOURS: usize = 7;

/// The class of each variant.
#[derive(Clone, Debug)]
pub struct Palette {
    variants: Vec<String>,
}

impl Palette {
    /// Gives out colours in the order of these labels; the direct variant is grey.
    pub fn of_labels(labels: &[&str]) -> Self {
        let gateways = labels.iter().filter(|label| **label != DIRECT);
        let variants = gateways.map(|label| (*label).to_owned()).collect();
        Self { variants }
    }

    /// The class that sets the variant's colour.
    pub fn class(&self, variant: &str) -> String {
        match self.variants.iter().position(|known| known == variant) {
            Some(index) => format!("v{}", index % COLOURS + 1),
            None => "v0".into(),
        }
    }
}

/// The label of the direct path from engine to upstream.
pub const DIRECT: &str = "direct";
