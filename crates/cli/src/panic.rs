//! A panic is a defect of gatebench and says so. It unwinds, so that the guards still end what was
//! started; the supervisors would do it anyway.

use crate::terminal;

/// Replaces the standard library's words for a panic.
pub fn say_that_it_is_our_fault() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("no message");
        terminal::complain(&format!(
            "error: gatebench: this is a bug in gatebench, not in what it measures: {message} \
             ({place}, version {})\n  \
             → report it with this message; gatebench stops everything that it started",
            env!("CARGO_PKG_VERSION")
        ));
    }));
}
