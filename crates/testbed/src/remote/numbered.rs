//! Lines that survive a broken connection: each has a number, is kept until the other end has
//! acknowledged it, and until then is sent again over each new connection.
//!
//! Both ends begin a connection with `H N`, where N is the number of the last line that they
//! received. Then `L N TEXT` carries line N, and `A N` acknowledges all lines up to N. This module
//! ignores other lines, such as empty heartbeat lines.

use std::collections::VecDeque;

/// The lines of one end, over all its connections.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    /// Lines that the other end has not acknowledged, in order.
    kept: VecDeque<(u64, String)>,
    sent: u64,
    received: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Line(String),
    /// Nothing new: an acknowledgment, a repeated line or a heartbeat.
    Nothing,
    /// The other end began a connection: these frames must be sent again.
    Again(Vec<String>),
    /// A line is missing, so this connection cannot be used any longer.
    Gap,
}

impl Numbered {
    pub(super) fn greeting(&self) -> String {
        format!("H {}", self.received)
    }

    /// Keeps a line, and returns its frame.
    pub(super) fn send(&mut self, text: &str) -> String {
        self.sent += 1;
        self.kept.push_back((self.sent, text.to_owned()));
        frame(self.sent, text)
    }

    pub(super) fn acknowledgment(&self) -> String {
        format!("A {}", self.received)
    }

    pub(super) fn receive(&mut self, frame: &str) -> Meaning {
        let mut parts = frame.splitn(3, ' ');
        let kind = parts.next();
        let Some(number) = parts.next().and_then(|it| it.parse::<u64>().ok()) else {
            return Meaning::Nothing;
        };
        match kind {
            Some("A") => {
                self.forget(number);
                Meaning::Nothing
            }
            Some("H") => {
                self.forget(number);
                let kept = self.kept.iter();
                Meaning::Again(
                    kept.map(|(number, text)| self::frame(*number, text))
                        .collect(),
                )
            }
            Some("L") if number <= self.received => Meaning::Nothing,
            Some("L") if number > self.received + 1 => Meaning::Gap,
            Some("L") => {
                self.received = number;
                Meaning::Line(parts.next().unwrap_or_default().to_owned())
            }
            _ => Meaning::Nothing,
        }
    }

    fn forget(&mut self, number: u64) {
        while self.kept.front().is_some_and(|(kept, _)| *kept <= number) {
            self.kept.pop_front();
        }
    }
}

fn frame(number: u64, text: &str) -> String {
    format!("L {number} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_once_and_in_order_even_if_the_connection_breaks() {
        let (mut near, mut far) = (Numbered::default(), Numbered::default());
        let first = near.send("one");
        let second = near.send("two words");
        let third = near.send("");
        assert_eq!(far.receive(&first), Meaning::Line("one".into()));
        // The second line is lost, so the third line reveals a gap.
        assert_eq!(far.receive(&third), Meaning::Gap);
        let again = near.receive(&far.greeting());
        assert_eq!(again, Meaning::Again(vec![second.clone(), third.clone()]));
        assert_eq!(far.receive(&second), Meaning::Line("two words".into()));
        assert_eq!(far.receive(&second), Meaning::Nothing, "a repeated line");
        assert_eq!(far.receive(&third), Meaning::Line(String::new()));
        assert_eq!(near.kept.len(), 2);
        assert_eq!(near.receive(&far.acknowledgment()), Meaning::Nothing);
        assert_eq!(near.kept.len(), 0);
    }

    #[test]
    fn text_that_is_not_a_frame_is_ignored() {
        let mut lines = Numbered::default();
        for other in ["", "Welcome to the machine", "L", "L x y", "Z 1 a"] {
            assert_eq!(lines.receive(other), Meaning::Nothing, "{other}");
        }
    }
}
