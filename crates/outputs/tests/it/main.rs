//! Tests of the formats: what an encoder wrote is decoded again.
#![allow(clippy::unwrap_used)]

mod counts;
mod facts;
mod histograms;
mod influx;
mod official;
mod prometheus;
