//! The values for templates in requests, prepared for drawing: templates refer to sources by
//! number, and distributions are initialized. All workers share the values, which are never
//! modified.

use std::collections::BTreeMap;

use gatebench_model::Source;
use gatebench_model::data::{List, Pick, Rows};
use gatebench_model::template::Reference;
use rand_distr::{Normal, Uniform, Zipf};

/// The reason why values or requests cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.what(), self.remedy())]
pub enum DataError {
    /// A template names a source that does not exist.
    NoSource {
        name: String,
    },
    /// A template names a column that does not exist, or omits the column although there are
    /// several.
    NoColumn {
        source_name: String,
        /// The column; `None` if the template names none.
        column: Option<String>,
        /// The names of the source's columns, as a list for the message.
        columns: String,
    },
    /// A distribution is not defined for its parameters, or a list is empty.
    Undefined {
        name: String,
        reason: String,
    },
    Template(#[from] gatebench_model::template::TemplateError),
    /// A value of a source contains a byte that is not allowed in the part of the request where the
    /// value is used, such as a line feed in a header.
    Unsafe {
        name: String,
        place: &'static str,
        value: String,
    },
}

impl DataError {
    /// Returns the description of the mistake without the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::NoSource { name } => format!("there is no data source '{name}'"),
            Self::NoColumn {
                source_name,
                column: Some(column),
                ..
            } => format!("data source '{source_name}' has no column '{column}'"),
            Self::NoColumn { source_name, .. } => {
                format!("data source '{source_name}' has several columns")
            }
            Self::Undefined { name, reason } => {
                format!("cannot draw values from data source '{name}': {reason}")
            }
            Self::Template(error) => error.message.clone(),
            Self::Unsafe { name, place, value } => {
                format!("a value of data source '{name}' is not allowed in {place}: {value:?}")
            }
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            Self::NoSource { .. } => "define it under `data`".into(),
            Self::NoColumn { columns, .. } => format!("name one of its columns: {columns}"),
            Self::Undefined { .. } => "correct its parameters".into(),
            Self::Template(error) => error.help.clone(),
            Self::Unsafe { .. } => "encode it, or send it in the body".into(),
        }
    }
}

/// The sources of values for a load. The number of a source is its index.
#[derive(Clone, Debug, Default)]
pub struct DataSet {
    pub(crate) sources: Vec<Ready>,
}

#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) name: String,
    source: Source,
    pub(crate) values: Values,
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    Rows(Table),
    Sequence { from: i64, step: i64 },
    Uniform(Uniform<i64>),
    Normal(Normal<f64>),
    Zipf(Zipf<f64>),
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Rows,
    pub(crate) choice: Choice,
}

#[derive(Clone, Debug)]
pub(crate) enum Choice {
    InTurn,
    Uniform(Uniform<usize>),
    /// Numbers that are not the index of a row are drawn again.
    Normal(Normal<f64>),
    Zipf(Zipf<f64>),
}

/// The position of a template's value: the number of a source, and of a column in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) source: usize,
    pub(crate) column: usize,
}

impl DataSet {
    /// # Errors
    /// Fails if a distribution is not defined for its parameters, or if a list is empty.
    pub fn new(sources: &BTreeMap<String, Source>) -> Result<Self, DataError> {
        let sources = sources.iter().map(|(name, source)| {
            let values = values(source).map_err(|reason| DataError::Undefined {
                name: name.clone(),
                reason,
            })?;
            Ok(Ready {
                name: name.clone(),
                source: source.clone(),
                values,
            })
        });
        Ok(Self {
            sources: sources.collect::<Result<_, DataError>>()?,
        })
    }

    pub fn sources(&self) -> BTreeMap<String, Source> {
        let named = |it: &Ready| (it.name.clone(), it.source.clone());
        self.sources.iter().map(named).collect()
    }

    pub(crate) fn resolve(&self, reference: &Reference) -> Result<Slot, DataError> {
        let name = &reference.source;
        let source = self.sources.iter().position(|source| source.name == *name);
        let source = source.ok_or_else(|| DataError::NoSource { name: name.clone() })?;
        let columns = match &self.sources[source].values {
            Values::Rows(table) => table.columns.as_slice(),
            _ => &[],
        };
        let column = match &reference.column {
            None if columns.len() <= 1 => Some(0),
            None => None,
            Some(wanted) => columns.iter().position(|column| column == wanted),
        };
        let column = column.ok_or_else(|| DataError::NoColumn {
            source_name: name.clone(),
            column: reference.column.clone(),
            columns: columns.join(", "),
        })?;
        Ok(Slot { source, column })
    }

    /// Returns the strings that a slot can produce; none if its source draws numbers.
    pub(crate) fn texts(&self, slot: Slot) -> impl Iterator<Item = &str> {
        let rows = match &self.sources[slot.source].values {
            Values::Rows(table) => Some(&table.rows),
            _ => None,
        };
        rows.into_iter()
            .flat_map(move |rows| (0..rows.len()).filter_map(move |row| rows.get(row, slot.column)))
    }
}

fn values(source: &Source) -> Result<Values, String> {
    Ok(match source {
        Source::List(list) => Values::Rows(table(list)?),
        Source::Sequence(it) => Values::Sequence {
            from: it.from,
            step: it.step,
        },
        Source::Uniform(it) => {
            Values::Uniform(Uniform::new_inclusive(it.min, it.max).map_err(|it| it.to_string())?)
        }
        Source::Normal(it) => {
            let law = Normal::new(it.mean, it.standard_deviation);
            Values::Normal(law.map_err(|it| it.to_string())?)
        }
        Source::Zipf(it) => Values::Zipf(zipf(it.items as f64, it.exponent)?),
    })
}

fn zipf(items: f64, exponent: f64) -> Result<Zipf<f64>, String> {
    Zipf::new(items, exponent).map_err(|it| it.to_string())
}

fn table(list: &List) -> Result<Table, String> {
    let count = list.values.len();
    if count == 0 {
        return Err("it has no rows".into());
    }
    let rows = count as f64;
    let choice = match list.pick {
        Pick::InTurn => Choice::InTurn,
        Pick::Uniform => Choice::Uniform(Uniform::new(0, count).map_err(|it| it.to_string())?),
        Pick::Normal => {
            let law = Normal::new((rows - 1.0) / 2.0, rows / 6.0);
            Choice::Normal(law.map_err(|it| it.to_string())?)
        }
        Pick::Zipf => Choice::Zipf(zipf(rows, list.exponent.unwrap_or(1.0))?),
    };
    Ok(Table {
        columns: list.columns.clone(),
        rows: list.values.clone(),
        choice,
    })
}
