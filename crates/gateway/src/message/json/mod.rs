//! Edits of a JSON document in one pass over its text, without a tree: what no edit concerns is checked and
//! copied as it stands, white space, numbers and all. A document is edited whole or not at all. One that
//! has a member twice that an edit concerns is none: whoever reads it next could take either.

mod plan;
mod scan;

use std::borrow::Cow;

pub(crate) use plan::Plan;
use plan::{Edit, Index, Place};
pub(crate) use scan::NotJson;
use scan::{Member, Parts};

/// Appends the edited document to `out`.
pub(crate) fn edit(plan: &Plan, text: &[u8], out: &mut Vec<u8>) -> Result<(), NotJson> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(NotJson {
            at: error.valid_up_to(),
        });
    }
    let editor = Editor { text };
    let start = scan::space(text, 0);
    let end = editor.value(plan, start, 0, out)?;
    match scan::space(text, end) {
        at if at == text.len() => Ok(()),
        at => Err(NotJson { at }),
    }
}

struct Editor<'t> {
    text: &'t [u8],
}

impl Editor<'_> {
    /// Copies the value at `at` with its edits; answers where it ends.
    fn value(
        &self,
        plan: &Plan,
        at: usize,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, NotJson> {
        match self.text.get(at) {
            Some(b'{') => self.object(plan, at, depth, out),
            Some(b'[') => self.array(plan, at, depth, out),
            _ => {
                let end = scan::value(self.text, at, depth)?;
                out.extend_from_slice(&self.text[at..end]);
                Ok(end)
            }
        }
    }

    fn object(
        &self,
        plan: &Plan,
        at: usize,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, NotJson> {
        let before = if plan.has_renames {
            self.seen(plan, at, depth)?
        } else {
            0
        };
        let mut seen = 0_u64;
        let mut list = List::open(out, b'{');
        let mut members = Parts::open(self.text, at, depth)?;
        let mut from = members.at;
        while let Some(member) = members.next_member()? {
            let raw = &self.text[member.name.0 + 1..member.name.1 - 1];
            let name = unescaped(raw);
            let place = plan
                .places
                .iter()
                .position(|place| place.name.as_bytes() == &*name);
            let bit = place.map_or(0, |number| 1 << number);
            if seen & bit != 0 {
                return Err(NotJson { at: member.name.0 });
            }
            seen |= bit;
            // Where a member comes under this name, the one that has it leaves.
            let is_replaced = before != 0 && replaced(plan, before, &name);
            if !is_replaced
                || place
                    .is_some_and(|number| matches!(plan.places[number].edit, Edit::Rename { .. }))
            {
                let edit = place.map(|number| &plan.places[number].edit);
                self.member(member, from, edit, depth, &mut list)?;
            }
            from = after_comma(self.text, members.at);
        }
        for (number, place) in plan.places.iter().enumerate() {
            if seen & 1 << number == 0
                && !replaced(plan, before, place.name.as_bytes())
                && let Edit::Add(json) | Edit::Default(json) = &place.edit
            {
                list.item(&[&place.quoted, b":", json]);
            }
        }
        list.close(b'}');
        Ok(members.at)
    }

    /// Copies a member, whose text begins at `from` with the white space before it.
    fn member(
        &self,
        member: Member,
        from: usize,
        edit: Option<&Edit>,
        depth: usize,
        list: &mut List<'_>,
    ) -> Result<(), NotJson> {
        let text = self.text;
        let (name, value) = (member.name, member.value);
        match edit {
            None | Some(Edit::Default(_)) => list.item(&[&text[from..value.1]]),
            Some(Edit::Remove) => {}
            Some(Edit::Rename { quoted, .. }) => {
                list.item(&[&text[from..name.0], quoted, &text[name.1..value.1]]);
            }
            Some(Edit::Add(json)) => list.item(&[&text[from..value.0], json]),
            Some(Edit::Inside(inner)) => {
                list.item(&[&text[from..value.0]]);
                self.value(inner, value.0, depth + 1, list.out)?;
            }
        }
        Ok(())
    }

    /// Which places an object has members for.
    fn seen(&self, plan: &Plan, at: usize, depth: usize) -> Result<u64, NotJson> {
        let mut members = Parts::open(self.text, at, depth)?;
        let mut seen = 0;
        while let Some(member) = members.next_member()? {
            let name = unescaped(&self.text[member.name.0 + 1..member.name.1 - 1]);
            let place = plan
                .places
                .iter()
                .position(|place| place.name.as_bytes() == &*name);
            seen |= place.map_or(0, |number| 1 << number);
        }
        Ok(seen)
    }

    fn array(
        &self,
        plan: &Plan,
        at: usize,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, NotJson> {
        let mut list = List::open(out, b'[');
        let mut items = Parts::open(self.text, at, depth)?;
        let mut from = items.at;
        let mut number = 0;
        while let Some(item) = items.next_item()? {
            let places = || {
                plan.places
                    .iter()
                    .filter(|place| place.index == Some(Index::At(number)))
            };
            let edit = places().map(|place| &place.edit).next();
            let text = &self.text[from..item.1];
            match edit {
                None | Some(Edit::Default(_) | Edit::Rename { .. }) => list.item(&[text]),
                Some(Edit::Remove) => {}
                Some(Edit::Add(json)) => {
                    list.item(&[json]);
                    list.item(&[text]);
                }
                Some(Edit::Inside(inner)) => {
                    list.item(&[&self.text[from..item.0]]);
                    self.value(inner, item.0, depth + 1, list.out)?;
                }
            }
            number += 1;
            from = after_comma(self.text, items.at);
        }
        let is_next = |place: &&Place| matches!(place.index, Some(Index::At(at)) if at == number);
        let is_last = |place: &&Place| place.index == Some(Index::End);
        let next = plan.places.iter().filter(is_next);
        for place in next.chain(plan.places.iter().filter(is_last)) {
            if let Edit::Add(json) | Edit::Default(json) = &place.edit {
                list.item(&[json]);
            }
        }
        list.close(b']');
        Ok(items.at)
    }
}

/// Whether a member that is there gets that name.
fn replaced(plan: &Plan, seen: u64, name: &[u8]) -> bool {
    (0..).zip(&plan.places).any(|(number, place): (u32, _)| {
        seen & 1 << number != 0
            && matches!(&place.edit, Edit::Rename { to, .. } if to.as_bytes() == name && to != &place.name)
    })
}

/// The place after the comma that follows `at`, or after the closing bracket.
fn after_comma(text: &[u8], at: usize) -> usize {
    (scan::space(text, at) + 1).min(text.len())
}

/// A name without its escapes; almost never is there one.
fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    match serde_json::from_slice::<String>(&quoted) {
        Ok(name) => Cow::Owned(name.into_bytes()),
        // Half a surrogate pair: text that no edit can name.
        Err(_) => Cow::Borrowed(raw),
    }
}

/// A list that is being written, with its commas.
struct List<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> List<'o> {
    fn open(out: &'o mut Vec<u8>, bracket: u8) -> Self {
        out.push(bracket);
        Self {
            out,
            is_first: true,
        }
    }

    fn item(&mut self, parts: &[&[u8]]) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        for part in parts {
            self.out.extend_from_slice(part);
        }
    }

    fn close(self, bracket: u8) {
        self.out.push(bracket);
    }
}

#[cfg(test)]
mod tests;
