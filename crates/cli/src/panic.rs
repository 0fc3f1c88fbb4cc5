//! Reports a panic as a defect of gatebench. The panic unwinds the stack, whose guards end the
//! processes that gatebench started; supervisors end those that remain.

use crate::terminal;

/// Replaces the standard library's message for a panic.
pub fn report_panics_as_defects() {
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
            crate::VERSION
        ));
    }));
}
