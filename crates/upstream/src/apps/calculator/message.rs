//! Finds the operation in a message by the local names of its tags, without building a tree.
//!
//! The reader is tolerant, because the gateway validates messages. It skips comments, CDATA
//! sections, processing instructions and the doctype, and does not resolve entities.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Operation {
    const ALL: [Self; 4] = [Self::Add, Self::Subtract, Self::Multiply, Self::Divide];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Subtract => "Subtract",
            Self::Multiply => "Multiply",
            Self::Divide => "Divide",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) operation: Operation,
    pub(super) first: i32,
    pub(super) second: i32,
}

impl Task {
    pub(super) fn read(message: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(message).map_err(|_| "the message is not UTF-8")?;
        let mut operation = None;
        let (mut first, mut second) = (None, None);
        for Tag { name, content } in Tags(text) {
            match name {
                "intA" => first = Some(content),
                "intB" => second = Some(content),
                _ => {
                    let named = |one: &Operation| one.name() == name;
                    operation = operation.or(Operation::ALL.into_iter().find(named));
                }
            }
        }
        let operation = operation.ok_or(
            "the message has no operation; write Add, Subtract, Multiply or Divide in its body",
        )?;
        let first = first.ok_or("intA is missing")?;
        let second = second.ok_or("intB is missing")?;
        Ok(Self {
            operation,
            first: number(first).ok_or("intA is not a 32-bit integer")?,
            second: number(second).ok_or("intB is not a 32-bit integer")?,
        })
    }
}

/// Parses an xs:int, which may be surrounded by whitespace.
fn number(content: &str) -> Option<i32> {
    content.trim_matches([' ', '\t', '\r', '\n']).parse().ok()
}

struct Tag<'t> {
    /// The local name.
    name: &'t str,
    /// The text between this tag and the next.
    content: &'t str,
}

struct Tags<'t>(&'t str);

impl<'t> Iterator for Tags<'t> {
    type Item = Tag<'t>;

    fn next(&mut self) -> Option<Tag<'t>> {
        loop {
            let start = self.0.find('<')?;
            let after = &self.0[start + 1..];
            let aside = [
                ("!--", "-->"),
                ("![CDATA[", "]]>"),
                ("?", "?>"),
                ("!", ">"),
                ("/", ">"),
            ];
            let aside = aside.iter().find(|(begin, _)| after.starts_with(begin));
            if let Some((begin, end)) = aside {
                let rest = &after[begin.len()..];
                self.0 = &rest[rest.find(end)? + end.len()..];
                continue;
            }
            let end = after.find('>')?;
            let tag = &after[..end];
            self.0 = &after[end + 1..];
            let qualified = tag.split([' ', '\t', '\r', '\n', '/']).next()?;
            let content = match tag.ends_with('/') {
                true => "",
                false => &self.0[..self.0.find('<').unwrap_or(self.0.len())],
            };
            return Some(Tag {
                name: qualified.rsplit(':').next()?,
                content,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_comments_and_attributes_are_skipped() {
        let message = "<?xml version='1.0'?><!-- <Divide/> --><e:Envelope><e:Header a='b'/><e:Body>\n<t:Add x='1'><t:intA>1<!-- --></t:intA><![CDATA[<intA>9</intA>]]><t:intB\n>2</t:intB></t:Add></e:Body></e:Envelope>";
        let task = Task::read(message.as_bytes());
        let expected = Task {
            operation: Operation::Add,
            first: 1,
            second: 2,
        };
        assert_eq!(task, Ok(expected));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[<>/!?a:A \\-\\[\\]]{0,60}|.{0,60}") {
            let _ = Task::read(text.as_bytes());
        }
    }
}
