//! `gatebench serve`: the pages, access to them, and the runs that they start.

mod browser;
mod large;
mod pages;
mod safety;
mod site;
mod starting;
mod webdriver;
mod while_it_runs;
