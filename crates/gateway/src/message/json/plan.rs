//! Edits compiled to a tree of the places that they affect.

use gatebench_model::policy::JsonEdits;
use serde_json::Value;

use crate::config::ConfigError;

/// The edits to the members or items of one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(super) places: Vec<Place>,
    pub(super) has_renames: bool,
}

/// A member or an item, with its edit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) name: String,
    /// The name as JSON, with quotes.
    pub(super) quoted: Vec<u8>,
    /// The array index that the name denotes (RFC 6901 section 4); `None` if it denotes none.
    pub(super) index: Option<Index>,
    pub(super) edit: Edit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    At(usize),
    /// The place after the last item.
    End,
}

/// An edit; values are JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    Remove,
    Rename { to: String, quoted: Vec<u8> },
    Add(Vec<u8>),
    Default(Vec<u8>),
    Inside(Plan),
}

/// The maximum number of places of one value that can be marked as seen: one for each bit of a
/// `u64`.
const PLACES_MAX: usize = 64;

impl Plan {
    /// Compiles the edits of one policy. Refuses invalid pointers, edits that contradict each
    /// other, and more than [`PLACES_MAX`] edits of one value.
    pub(crate) fn new(edits: &JsonEdits) -> Result<Self, Vec<ConfigError>> {
        let mut plan = Self::default();
        let json = |value: &Value| value.to_string().into_bytes();
        let rename = |to: &String| {
            let quoted = json(&Value::from(to.as_str()));
            let to = to.clone();
            Edit::Rename { to, quoted }
        };
        let removes = edits.remove.iter().map(|at| (at, Edit::Remove));
        let renames = edits.rename.iter().map(|(at, to)| (at, rename(to)));
        let adds = edits.add.iter();
        let adds = adds.map(|(at, value)| (at, Edit::Add(json(value))));
        let defaults = edits.default.iter();
        let defaults = defaults.map(|(at, value)| (at, Edit::Default(json(value))));
        let all = removes.chain(renames).chain(adds).chain(defaults);
        let mistakes = all.filter_map(|(pointer, edit)| plan.put(pointer, edit).err());
        ConfigError::unless(mistakes.collect(), ())?;
        Ok(plan)
    }

    fn put(&mut self, pointer: &str, edit: Edit) -> Result<(), ConfigError> {
        let is_escaped = |after: &str| after.starts_with(['0', '1']);
        let path = pointer.strip_prefix('/');
        let path = path.filter(|path| path.split('~').skip(1).all(is_escaped));
        let Some(path) = path else {
            let message = format!("the pointer \"{pointer}\" does not name a member or an item");
            let remedy = "write a JSON Pointer, as in \"/name\"";
            return Err(ConfigError::new(message, remedy));
        };
        let tokens: Vec<String> = path
            .split('/')
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect();
        let (last, parents) = tokens.split_last().expect("a split has at least one part");
        let clash = || {
            let message = format!("two edits affect \"{pointer}\" or a part of it");
            ConfigError::new(message, "keep one of them")
        };
        let mut plan = self;
        for token in parents {
            let at = plan.place(token, || Edit::Inside(Self::default()))?;
            let Edit::Inside(inner) = &mut plan.places[at].edit else {
                return Err(clash());
            };
            plan = inner;
        }
        if plan.places.iter().any(|place| place.name == *last) {
            return Err(clash());
        }
        if let Edit::Rename { to, .. } = &edit {
            let same = |place: &Place| matches!(&place.edit, Edit::Rename { to: other, .. } if other == to);
            if plan.places.iter().any(same) {
                let message = format!("two members are renamed to \"{to}\"");
                return Err(ConfigError::new(message, "keep one of them"));
            }
            plan.has_renames = true;
        }
        plan.place(last, || edit)?;
        Ok(())
    }

    pub(super) fn number(&self, name: &[u8]) -> Option<usize> {
        let mut places = self.places.iter();
        places.position(|place| place.name.as_bytes() == name)
    }

    /// Returns the number of the place with that name; adds a place if there is none.
    fn place(&mut self, name: &str, edit: impl FnOnce() -> Edit) -> Result<usize, ConfigError> {
        if let Some(at) = self.places.iter().position(|place| place.name == name) {
            return Ok(at);
        }
        if self.places.len() == PLACES_MAX {
            let message = format!("one object has more than {PLACES_MAX} edits");
            return Err(ConfigError::new(message, "split them into two policies"));
        }
        self.places.push(Place {
            name: name.to_owned(),
            quoted: Value::from(name).to_string().into_bytes(),
            index: index(name),
            edit: edit(),
        });
        Ok(self.places.len() - 1)
    }
}

/// Returns the place that a token names in an array. Digits without a leading zero name an item,
/// and `-` names the place after the last item.
fn index(token: &str) -> Option<Index> {
    let is_number =
        token == "0" || !token.starts_with('0') && token.bytes().all(|b| b.is_ascii_digit());
    match token {
        "-" => Some(Index::End),
        _ if is_number => token.parse().ok().map(Index::At),
        _ => None,
    }
}
