//! Edits of header fields, compiled to one pass over the fields of a message.

use gatebench_model::policy::HeaderEdits;
use gatebench_net::http1::hop;

/// The combined effect of several edits: changes to existing fields, and fields to add.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderProgram {
    steps: Vec<Step>,
    added: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug)]
enum Step {
    Remove(String),
    Rename(String, String),
}

impl HeaderProgram {
    /// Adds edits that act after the existing ones.
    pub(crate) fn then(&mut self, edits: &HeaderEdits) {
        for name in &edits.remove {
            self.remove(name);
        }
        for (name, to) in &edits.rename {
            for (added, _) in &mut self.added {
                if added.eq_ignore_ascii_case(name) {
                    added.clone_from(to);
                }
            }
            self.steps.push(Step::Rename(name.clone(), to.clone()));
        }
        for (name, value) in &edits.set {
            self.remove(name);
            self.added.push((name.clone(), value.as_bytes().into()));
        }
        for (name, value) in &edits.add {
            self.added.push((name.clone(), value.as_bytes().into()));
        }
    }

    /// Adds the removal of a field, which also drops values that earlier edits add to it.
    pub(crate) fn remove(&mut self, name: &str) {
        self.added
            .retain(|(added, _)| !added.eq_ignore_ascii_case(name));
        self.steps.push(Step::Remove(name.to_owned()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.added.is_empty()
    }

    /// Returns the edited fields, followed by the added ones.
    pub(crate) fn apply<'f>(
        &'f self,
        fields: impl Iterator<Item = (&'f str, &'f [u8])>,
    ) -> impl Iterator<Item = (&'f str, &'f [u8])> {
        let kept = fields.filter_map(|(name, value)| Some((self.name_of(name)?, value)));
        let added = self.added.iter();
        kept.chain(added.map(|(name, value)| (name.as_str(), value.as_slice())))
    }

    /// Returns the new name of a field; `None` if the field is removed. A field is also removed if
    /// an upstream may confuse it with a removed one.
    fn name_of<'f>(&'f self, mut name: &'f str) -> Option<&'f str> {
        for step in &self.steps {
            match step {
                Step::Remove(other) if hop::is_alike(name.as_bytes(), other.as_bytes()) => {
                    return None;
                }
                Step::Rename(other, to) if name.eq_ignore_ascii_case(other) => name = to,
                Step::Remove(_) | Step::Rename(..) => {}
            }
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(edits: &[&str], fields: &str) -> String {
        let mut program = HeaderProgram::default();
        for edit in edits {
            program.then(&serde_json::from_str(edit).unwrap());
        }
        let fields = fields.split_whitespace().map(|field| {
            let (name, value) = field.split_once(':').unwrap();
            (name, value.as_bytes())
        });
        let edited: Vec<_> = program
            .apply(fields)
            .map(|(name, value)| format!("{name}:{}", String::from_utf8_lossy(value)))
            .collect();
        edited.join(" ")
    }

    #[test]
    fn each_edit_applies_in_any_case() {
        let fields = "A:1 b:2 C:3 B:4";
        assert_eq!(edited(&[r#"{"remove": ["B"]}"#], fields), "A:1 C:3");
        assert_eq!(
            edited(&[r#"{"rename": {"B": "X"}}"#], fields),
            "A:1 X:2 C:3 X:4"
        );
        assert_eq!(edited(&[r#"{"set": {"B": "9"}}"#], fields), "A:1 C:3 B:9");
        assert_eq!(
            edited(&[r#"{"add": {"B": "9"}}"#], fields),
            "A:1 b:2 C:3 B:4 B:9"
        );
        assert_eq!(edited(&[r#"{"set": {"New": "9"}}"#], ""), "New:9");
        assert_eq!(edited(&["{}"], fields), fields);
    }

    #[test]
    fn lookalikes_are_removed_with_their_field() {
        let fields = "X_User:1 x-user:2 X.User:3 XaUser:4 X_Users:5";
        let rest = "XaUser:4 X_Users:5";
        assert_eq!(edited(&[r#"{"remove": ["X-User"]}"#], fields), rest);
        assert_eq!(
            edited(&[r#"{"set": {"X-User": "9"}}"#], fields),
            format!("{rest} X-User:9")
        );
        assert_eq!(edited(&[r#"{"remove": ["X_User"]}"#], "X-User:1"), "");
    }

    #[test]
    fn edits_and_policies_apply_in_order() {
        let all =
            r#"{"remove": ["A"], "rename": {"B": "A"}, "set": {"C": "5"}, "add": {"C": "6"}}"#;
        assert_eq!(edited(&[all], "A:1 B:2 C:3"), "A:2 C:5 C:6");
        let add = r#"{"add": {"X": "1"}}"#;
        assert_eq!(edited(&[add, r#"{"remove": ["x"]}"#], "X:0 Y:0"), "Y:0");
        assert_eq!(edited(&[r#"{"remove": ["x"]}"#, add], "X:0 Y:0"), "Y:0 X:1");
        assert_eq!(edited(&[add, r#"{"rename": {"X": "Y"}}"#], ""), "Y:1");
    }
}
