//! `gatebench serve`: the pages, who may read them, and the runs that they may start.

mod pages;
mod safety;
mod site;
mod starting;
mod while_it_runs;
