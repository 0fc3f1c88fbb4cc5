//! Edits the text of a JSON document without building a tree. Members and items that no edit
//! affects are checked and copied byte for byte, including the white space and the numbers in them.
//! A document is either edited completely or refused. A document that repeats an edited member is
//! refused, because the next reader could use either value.

mod plan;
mod scan;

use std::borrow::Cow;

pub(crate) use plan::Plan;
use plan::{Edit, Index, Place};
pub(crate) use scan::NotJson;
use scan::{Member, Parts};

pub(crate) fn edit(plan: &Plan, text: &[u8], out: &mut Vec<u8>) -> Result<(), NotJson> {
    std::str::from_utf8(text).map_err(|_| NotJson)?;
    let mut editor = Editor { text, out };
    let start = scan::space(text, 0);
    let end = editor.value(plan, start, 0)?;
    let is_whole = scan::space(text, end) == text.len();
    is_whole.then_some(()).ok_or(NotJson)
}

struct Editor<'t, 'o> {
    text: &'t [u8],
    out: &'o mut Vec<u8>,
}

impl Editor<'_, '_> {
    /// Copies the value at `at` with its edits; returns its end.
    fn value(&mut self, plan: &Plan, at: usize, depth: usize) -> Result<usize, NotJson> {
        match self.text.get(at) {
            Some(b'{') => self.object(plan, at, depth),
            Some(b'[') => self.array(plan, at, depth),
            _ => {
                let end = scan::value(self.text, at, depth)?;
                self.out.extend_from_slice(&self.text[at..end]);
                Ok(end)
            }
        }
    }

    fn object(&mut self, plan: &Plan, at: usize, depth: usize) -> Result<usize, NotJson> {
        let before = if plan.has_renames {
            self.seen(plan, at, depth)?
        } else {
            0
        };
        let mut seen = 0_u64;
        self.out.push(b'{');
        let mut is_empty = true;
        let mut members = Parts::open(self.text, at, depth)?;
        let mut from = members.at;
        while let Some(member) = members.next_member()? {
            let raw = &self.text[member.name.0 + 1..member.name.1 - 1];
            let name = unescaped(raw);
            let place = plan.number(&name);
            let bit = place.map_or(0, |number| 1 << number);
            if seen & bit != 0 {
                return Err(NotJson);
            }
            seen |= bit;
            // If another member is renamed to this name, the existing member is removed, unless it
            // is renamed too.
            let is_replaced = before != 0 && replaced(plan, before, &name);
            let edit = place.map(|number| &plan.places[number].edit);
            if !is_replaced || matches!(edit, Some(Edit::Rename { .. })) {
                self.member(member, from, edit, depth, &mut is_empty)?;
            }
            from = after_comma(self.text, members.at);
        }
        for (number, place) in plan.places.iter().enumerate() {
            if seen & 1 << number == 0
                && !replaced(plan, before, place.name.as_bytes())
                && let Edit::Add(json) | Edit::Default(json) = &place.edit
            {
                self.item(&mut is_empty, &[&place.quoted, b":", json]);
            }
        }
        self.out.push(b'}');
        Ok(members.at)
    }

    /// Copies a member with its edit. The member's text begins at `from`, with the white space
    /// before it.
    fn member(
        &mut self,
        member: Member,
        from: usize,
        edit: Option<&Edit>,
        depth: usize,
        is_empty: &mut bool,
    ) -> Result<(), NotJson> {
        let text = self.text;
        let (name, value) = (member.name, member.value);
        match edit {
            None | Some(Edit::Default(_)) => self.item(is_empty, &[&text[from..value.1]]),
            Some(Edit::Remove) => {}
            Some(Edit::Rename { quoted, .. }) => {
                let (before, after) = (&text[from..name.0], &text[name.1..value.1]);
                self.item(is_empty, &[before, quoted, after]);
            }
            Some(Edit::Add(json)) => self.item(is_empty, &[&text[from..value.0], json]),
            Some(Edit::Inside(inner)) => {
                self.item(is_empty, &[&text[from..value.0]]);
                self.value(inner, value.0, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Returns a bit set of the plan's places for which the object has a member.
    fn seen(&self, plan: &Plan, at: usize, depth: usize) -> Result<u64, NotJson> {
        let mut members = Parts::open(self.text, at, depth)?;
        let mut seen = 0;
        while let Some(member) = members.next_member()? {
            let name = unescaped(&self.text[member.name.0 + 1..member.name.1 - 1]);
            seen |= plan.number(&name).map_or(0, |number| 1 << number);
        }
        Ok(seen)
    }

    fn array(&mut self, plan: &Plan, at: usize, depth: usize) -> Result<usize, NotJson> {
        self.out.push(b'[');
        let mut is_empty = true;
        let mut items = Parts::open(self.text, at, depth)?;
        let mut from = items.at;
        let mut number = 0;
        while let Some(item) = items.next_item()? {
            let is_here = |place: &&Place| place.index == Some(Index::At(number));
            let edit = plan.places.iter().find(is_here).map(|place| &place.edit);
            let text = &self.text[from..item.1];
            match edit {
                None | Some(Edit::Default(_) | Edit::Rename { .. }) => {
                    self.item(&mut is_empty, &[text]);
                }
                Some(Edit::Remove) => {}
                Some(Edit::Add(json)) => self.item(&mut is_empty, &[json, b",", text]),
                Some(Edit::Inside(inner)) => {
                    let before = &self.text[from..item.0];
                    self.item(&mut is_empty, &[before]);
                    self.value(inner, item.0, depth + 1)?;
                }
            }
            number += 1;
            from = after_comma(self.text, items.at);
        }
        let is_next = |place: &&Place| place.index == Some(Index::At(number));
        let is_last = |place: &&Place| place.index == Some(Index::End);
        let next = plan.places.iter().filter(is_next);
        for place in next.chain(plan.places.iter().filter(is_last)) {
            if let Edit::Add(json) | Edit::Default(json) = &place.edit {
                self.item(&mut is_empty, &[json]);
            }
        }
        self.out.push(b']');
        Ok(items.at)
    }

    /// Appends a member or an item, after a comma unless it is the first one.
    fn item(&mut self, is_empty: &mut bool, parts: &[&[u8]]) {
        if !std::mem::take(is_empty) {
            self.out.push(b',');
        }
        for part in parts {
            self.out.extend_from_slice(part);
        }
    }
}

/// Reports whether another member, which occurs in the object, is renamed to `name`.
fn replaced(plan: &Plan, seen: u64, name: &[u8]) -> bool {
    (0..).zip(&plan.places).any(|(number, place): (u32, _)| {
        seen & 1 << number != 0
            && matches!(&place.edit, Edit::Rename { to, .. } if to.as_bytes() == name && to != &place.name)
    })
}

/// Returns the position after the comma or closing bracket that follows `at`.
fn after_comma(text: &[u8], at: usize) -> usize {
    (scan::space(text, at) + 1).min(text.len())
}

/// Decodes the escapes in a name, which almost never has any.
fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    match serde_json::from_slice::<String>(&quoted) {
        Ok(name) => Cow::Owned(name.into_bytes()),
        // The name has an unpaired surrogate: no edit can name such a string.
        Err(_) => Cow::Borrowed(raw),
    }
}

#[cfg(test)]
mod tests;
