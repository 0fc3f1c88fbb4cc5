//! What the fuzz targets hold true of any bytes. Each function takes an input as the fuzzer made it and
//! panics where a promise is broken; [`seeds::all`] are the inputs it begins from.

pub mod cuts;
pub mod gateway;
pub mod gzip;
pub mod hpack;
pub mod http1;
pub mod http2;
pub mod model;
pub mod seeds;
pub mod trace;
pub mod xml;
