//! The studies of a run, a chapter each.

mod capacity;
pub mod combined;
pub mod costs;
mod isolation;
mod scale;
mod section;
mod soak;

use gatebench_analysis::Findings;

use crate::chapter::{Chapter, Forms};
use crate::palette::Palette;

/// Returns the chapters of the studies that the run was made for, in the order in which every form shows them, with the
/// blocks of these forms.
pub fn chapters(findings: &Findings, forms: Forms) -> Vec<Chapter> {
    let palette = &Palette::of(findings);
    let mut chapters = Vec::new();
    chapters.extend(capacity::chapter(findings, palette));
    chapters.extend(soak::chapter(findings, palette));
    chapters.extend(isolation::chapter(findings, palette));
    chapters.extend(combined::chapter(findings, palette));
    chapters.extend(costs::chapter(findings, palette));
    chapters.extend(scale::chapter(findings, palette));
    chapters.extend(
        findings
            .sections
            .iter()
            .map(|it| section::chapter(it, palette)),
    );
    chapters.into_iter().map(|it| it.only(forms)).collect()
}
