//! Tests of the formats: the output of each encoder is decoded again.
#![allow(clippy::unwrap_used)]

mod counts;
mod facts;
mod histograms;
mod influx;
mod official;
mod prometheus;
