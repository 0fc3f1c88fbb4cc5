//! The properties that the fuzz targets check. The function of a target takes an input of the
//! fuzzer and panics if a property does not hold. [`seeds::all`] returns the inputs that the fuzzer
//! starts from.

pub mod cuts;
pub mod gateway;
pub mod gzip;
pub mod hpack;
pub mod http1;
pub mod http2;
pub mod import;
pub mod model;
pub mod seeds;
pub mod trace;
pub mod xml;
