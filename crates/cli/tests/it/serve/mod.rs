//! `gatebench serve`: the pages, access to them, and the runs that they start.

mod pages;
mod safety;
mod site;
mod starting;
mod while_it_runs;
