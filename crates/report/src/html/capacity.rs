//! Capacities on the page: the answers, and a curve with its table for each gateway.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::GatewayCapacity;
use serde::Serialize;

use super::results::{TableView, table_view};
use crate::capacity;
use crate::palette::Palette;
use crate::plots::capacity::plot;
use crate::problems::word;

/// What a search came to.
#[derive(Serialize)]
pub struct CapacityView {
    objective: String,
    table: TableView,
    sizings: Vec<String>,
    gateways: Vec<CurveView>,
    explanation: &'static str,
    method: String,
}

#[derive(Serialize)]
struct CurveView {
    name: String,
    class: String,
    /// Shown where the answer is not valid.
    validity: Option<&'static str>,
    text: String,
    /// Empty where there are too few steps to draw.
    svg: String,
    steps: usize,
    table: TableView,
}

/// The view; none where the run was not made to search.
pub fn capacity(findings: &Findings, palette: &Palette) -> Option<CapacityView> {
    let found = findings.capacity.as_ref()?;
    let curve = |(index, gateway): (usize, &GatewayCapacity)| {
        let class = palette.class(&gateway.variant);
        let id = format!("capacity-{index}");
        CurveView {
            name: capacity::name(found, gateway),
            validity: (gateway.validity != gatebench_analysis::findings::Validity::Valid)
                .then(|| word(gateway.validity)),
            text: gateway.text.clone(),
            svg: plot(&id, found, gateway, &class).unwrap_or_default(),
            steps: gateway
                .curve
                .iter()
                .map(|it| (it.held + it.missed) as usize)
                .sum(),
            table: table_view(&capacity::curve(gateway), palette),
            class,
        }
    };
    Some(CapacityView {
        objective: found.objective.clone(),
        table: table_view(&capacity::table(found), palette),
        sizings: found.sizings.iter().map(|it| it.text.clone()).collect(),
        gateways: found.gateways.iter().enumerate().map(curve).collect(),
        explanation: capacity::CURVE,
        method: found.method.clone(),
    })
}
