//! The display on a terminal: the load, a progress bar and figures, updated in place.

use std::time::{Duration, Instant};

use gatebench_report::format::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::sparkline::Sparkline;
use super::{Moment, Outlook, Show};
use crate::terminal;

const TEMPLATE: &str = "{prefix}\n  {bar:40.cyan/dim} {msg}";
const STEPS: u64 = 1_000;
/// The interval over which the rate is computed, long enough for the rate to be readable.
const RATE_OVER: Duration = Duration::from_millis(1_000);

/// Shows progress on standard error.
pub struct Bar {
    outlook: Outlook,
    bar: ProgressBar,
    rates: Sparkline,
    /// The time when the rate was last computed, and the number of responses until then.
    since: (Instant, u64),
    rate_per_second: Option<f64>,
}

impl Bar {
    pub fn new(outlook: Outlook) -> Self {
        let style =
            ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8))
            .with_style(style.progress_chars("━━─"))
            .with_prefix(terminal::in_progress(&outlook.words));
        Self {
            outlook,
            bar,
            rates: Sparkline::default(),
            since: (Instant::now(), 0),
            rate_per_second: None,
        }
    }

    fn take_rate(&mut self, moment: &Moment) {
        let (at, completed) = self.since;
        if at.elapsed() >= RATE_OVER {
            let rate =
                moment.completed.saturating_sub(completed) as f64 / at.elapsed().as_secs_f64();
            self.rates.push(rate);
            self.rate_per_second = Some(rate);
            self.since = (Instant::now(), moment.completed);
        }
    }

    fn figures(&self, moment: &Moment) -> String {
        let rate = self.rate_per_second.unwrap_or(moment.per_second);
        let mut figures = moment.figures(rate);
        if let Some(failed) = figures.last_mut().filter(|_| moment.failed > 0) {
            *failed = terminal::stderr_style()
                .red()
                .apply_to(&*failed)
                .to_string();
        }
        format!("  {}  {}", self.rates.draw(), figures.join(" · "))
    }
}

impl Show for Bar {
    fn show(&mut self, moment: &Moment) {
        self.take_rate(moment);
        let Some(elapsed) = moment.elapsed else {
            self.bar.set_message("connecting");
            return;
        };
        let (done, words) = self.outlook.progress(elapsed, moment.completed);
        self.bar.set_position((done * STEPS as f64) as u64);
        let words = if moment.stopping { "stopping" } else { &words };
        let words = format!("{words}\n{}", self.figures(moment));
        self.bar.set_message(terminal::in_progress(&words));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Outlook {
    /// Returns the progress as a share from 0 to 1 and as text.
    fn progress(&self, elapsed: Duration, completed: u64) -> (f64, String) {
        if elapsed < self.warm_up {
            let left = (self.warm_up - elapsed).as_secs_f64().ceil();
            return (0.0, format!("warm-up, {} left", in_clock(left)));
        }
        let measured = (elapsed - self.warm_up).as_secs_f64();
        let all = self.measure.as_secs_f64();
        match self.requests {
            Some(requests) => {
                let (done, all) = (completed as f64, requests as f64);
                let words = format!("{} of {} requests", grouped(done), grouped(all));
                (done / all, words)
            }
            None if measured >= all => (1.0, "waiting for the last responses".into()),
            None => {
                let left = in_clock((all - measured).ceil());
                let (done, of) = (in_clock(measured.floor()), in_clock(all));
                (measured / all, format!("{done} of {of}, {left} left"))
            }
        }
    }
}

/// Formats a number of seconds: `7s`, `2m05s`.
fn in_clock(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 if seconds.fract() > 0.0 => format!("{seconds:.1}s"),
        0..60 => format!("{whole}s"),
        _ => format!("{}m{:02}s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_in_time_or_in_requests() {
        let outlook = |requests| Outlook {
            words: String::new(),
            warm_up: Duration::from_secs(1),
            measure: Duration::from_secs(100),
            requests,
            is_said_again: true,
        };
        let said = |requests, millis| outlook(requests).progress(Duration::from_millis(millis), 5);
        assert_eq!(said(None, 200), (0.0, "warm-up, 1s left".into()));
        assert_eq!(
            said(None, 26_000),
            (0.25, "25s of 1m40s, 1m15s left".into())
        );
        assert_eq!(
            said(None, 102_000),
            (1.0, "waiting for the last responses".into())
        );
        assert_eq!(said(Some(20), 2_000), (0.25, "5 of 20 requests".into()));
    }
}
