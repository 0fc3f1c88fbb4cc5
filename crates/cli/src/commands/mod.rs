//! The commands, one module each.

pub mod ab;
pub mod audit;
pub mod baseline;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod flame;
pub mod gateway;
pub mod history;
pub mod install;
pub mod isolation;
pub mod list;
pub mod load;
pub mod new;
pub mod remote_end;
pub mod report;
pub mod run;
pub mod schema;
pub mod soak;
pub mod spec;
pub mod splice;
pub mod supervise;
pub mod upstream;
mod values;
