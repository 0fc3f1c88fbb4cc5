//! `gatebench serve`: the pages, access to them, and the runs that they start.

mod browser;
mod flame_graphs;
mod large;
mod numbers;
mod pages;
mod safety;
mod site;
mod starting;
mod webdriver;
mod while_it_runs;
