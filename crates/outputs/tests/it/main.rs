//! Tests of the formats, which decode the output of each encoder.
#![allow(clippy::unwrap_used)]

mod counts;
mod facts;
mod histograms;
mod influx;
mod official;
mod prometheus;
mod python;
