//! The report of a run in the columns of a published document: its tables, and the differences in
//! method.

use gatebench_report::chapter::{
    Block, CSV, Chapter, Document, Fact, Forms, Line, Lines, MARKDOWN, PAGE, Part, Report,
    TERMINAL, TableBlock, Text,
};
use gatebench_report::csv::{field, suffix};
use gatebench_report::figures::{FigureCell, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::{UnitScale, distinct};
use gatebench_report::palette::Palette;
use gatebench_report::table::{Cell, Column, Lane, Lanes, Row, Table};
use gatebench_report::{Tone, Unit, Validity};

use super::facts::{Correction, CorrectionRow, DocumentDoubt, DocumentFindings};

const EXPLANATION: &str = "Each cell is the median of the blocks, with their range. Figures from \
     different machines cannot be compared, so published figures appear only as ratios within \
     their own table. The figures in the document's columns are measured by the document's \
     method, and those in the columns next to them by gatebench's method.";

const CORRECTIONS: &str = "How this differs from the published table";

const EFFECT: &str = "Each difference is followed by its effect on this run's figures (those of \
     its first gateway, if the rows name no gateway): the figure by the document's method, and the \
     figure as measured.";

/// Explains the mark on limited cells.
const LIMITS: &str = "the reason and the remedy are listed under Validity.";

/// The header of the records for a spreadsheet. A cell with text, such as `100 %` of checks, has
/// the text in the last column and no numbers.
const HEAD: &str = "table,row,variant,group,column,unit,median,min,max,blocks,validity,interval_low,\
     interval_high,words";

impl Report for DocumentFindings {
    fn document(&self, form: Forms) -> Document {
        let rows = self.tables.iter().flat_map(|it| &it.rows);
        let variants = rows.map(|row| &*row.variant).filter(|it| !it.is_empty());
        let palette = &Palette::of_labels(&distinct(variants));
        let chapters = match form {
            CSV => vec![Chapter::of(vec![Block::records(
                HEAD,
                records(&self.tables),
            )])],
            _ => vec![
                tables(self, form, palette),
                validity(self),
                corrections(self, palette),
            ],
        };
        let is_filled = |it: &Chapter| !it.blocks.is_empty();
        let chapters = chapters.into_iter().filter(is_filled);
        let foot = match form {
            PAGE => Text::from("Measured with ")
                .and_styled("mono", &self.command)
                .and("."),
            _ => format!("gatebench {} · {}", self.gatebench, self.command).into(),
        };
        Document {
            brand: "in the columns of".to_owned(),
            title: self.title.clone(),
            chapters: chapters.map(|it| it.only(form)).collect(),
            foot,
            gatebench: self.gatebench.clone(),
            ..Document::default()
        }
    }
}

fn tables(found: &DocumentFindings, form: Forms, palette: &Palette) -> Chapter {
    let title = format!("In the columns of: {}", found.title);
    let setting = format!("{} {EXPLANATION}", found.setting);
    let mut blocks = vec![
        Block::from(Part::Title(title.into())).on(TERMINAL | MARKDOWN),
        Block::sentence(&*found.setting).on(TERMINAL),
        Block::sentence(EXPLANATION).on(TERMINAL),
        Block::sentence(&*setting).on(MARKDOWN),
        Block::lead(&*setting, "").on(PAGE),
    ];
    blocks.extend(found.tables.iter().map(|it| card(it, palette)));
    let notes = found.notes.iter().map(|it| Fact::remark(&**it));
    blocks.push(Block::facts("notes", notes));
    let chapter = Chapter::new("tables", "Tables", blocks);
    match form {
        PAGE => chapter,
        _ => chapter.headed(""),
    }
}

fn card(found: &FigureTable, palette: &Palette) -> Block {
    let table = |table: Table| TableBlock::new(table, found.first, &found.title, palette);
    let loads = found.groups.iter().filter(|group| !group.label.is_empty());
    let loads = loads
        .enumerate()
        .fold(Text::default(), |loads, (index, it)| {
            let between = if index == 0 { "" } else { "; " };
            let label = format!(": {}", it.label);
            loads.and(between).and_strong(&it.title).and(&label)
        });
    let whole = table(found.laid_out());
    let mut blocks = vec![
        Block::heading(&*found.title),
        Block::sentence(loads.and(".")).on(MARKDOWN),
        Block::from(whole).on(TERMINAL),
    ];
    let parts = parts(found).into_iter();
    let parts = parts.map(|it| Block::from(table(it).kind(" documents").limits(LIMITS)));
    blocks.extend(parts.map(|it| it.on(MARKDOWN | PAGE)));
    Block::card("", blocks)
}

fn validity(found: &DocumentFindings) -> Chapter {
    let fact = |it: &DocumentDoubt| {
        let tone = match it.validity {
            Validity::Invalid => Tone::Alarm,
            Validity::Limited | Validity::Valid => Tone::Caution,
        };
        let word = it.validity.word();
        Fact::of(Text::chip(word, word).and(&doubt(it)), tone)
    };
    let facts: Vec<Fact> = found.doubts.iter().map(fact).collect();
    let blocks = match facts.is_empty() {
        true => Vec::new(),
        false => vec![
            Block::heading("Validity").on(TERMINAL),
            Block::card("", vec![Block::facts("sentences", facts)]),
        ],
    };
    Chapter::new("validity", "Validity", blocks)
}

fn corrections(found: &DocumentFindings, palette: &Palette) -> Chapter {
    let mut blocks = Vec::new();
    if !found.corrections.is_empty() {
        blocks.extend([
            Block::heading(CORRECTIONS).on(TERMINAL),
            Block::sentence(EFFECT).on(TERMINAL | MARKDOWN),
            Block::lead(EFFECT, "").on(PAGE),
        ]);
    }
    let corrections = found.corrections.iter();
    blocks.extend(corrections.map(|it| correction(it, palette)));
    Chapter::new("differs", "What differs", blocks).headed(CORRECTIONS)
}

fn correction(found: &Correction, palette: &Palette) -> Block {
    let Correction {
        title,
        published,
        here,
        ..
    } = found;
    let terms = [("published", published), ("here", here)];
    let line = |(name, words): (&str, &String)| {
        Line::brief(format!("{name}:"), vec![words.as_str().into()])
    };
    let effect = match &found.untold {
        Some(why) => Block::foot(&**why, ""),
        None => {
            let table = TableBlock::new(effects(found), "row", title, palette);
            table.kind(" parts effects").into()
        }
    };
    let sentence = Text::strong(&format!("{title}."))
        .and(&format!(" {published} "))
        .and_strong("Here")
        .and(&format!(": {here}"));
    let blocks = vec![
        Block::heading(&**title).on(TERMINAL | PAGE),
        Block::sentence(sentence).on(MARKDOWN),
        Block::from(Lines::new("", Vec::new(), terms.map(line))).on(TERMINAL),
        Part::Terms {
            terms: terms
                .map(|(name, words)| [name.to_owned(), words.clone()])
                .into(),
        }
        .into(),
        effect,
    ];
    Block::card("", blocks)
}

/// A record for each cell that has a value (in base units) or text.
fn records(tables: &[FigureTable]) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    for table in tables {
        let columns = table.groups.iter().flat_map(|group| {
            let columns = group.columns.iter();
            columns.map(move |column| (&*group.title, column))
        });
        for row in &table.rows {
            for ((group, column), cell) in columns.clone().zip(&row.cells) {
                if cell.estimate.is_none() && cell.words.is_none() {
                    continue;
                }
                let head = column.head.join(" ");
                let place = [&*table.title, &row.name, &row.variant, group, head.trim()];
                let place = place.into_iter().map(field);
                let unit = std::iter::once(suffix(column.unit).to_owned());
                records.push(place.chain(unit).chain(values(cell)).collect());
            }
        }
    }
    records
}

/// The fields after the unit.
fn values(cell: &FigureCell) -> [String; 8] {
    let validity = cell.validity.map_or("", Validity::word).to_owned();
    let words = cell.words.as_deref().map(field).unwrap_or_default();
    let estimate = cell.estimate.as_ref();
    let [median, min, max] = estimate.map_or_else(Default::default, |it| {
        [it.median, it.min, it.max].map(|it| it.to_string())
    });
    let blocks = estimate.map_or_else(String::new, |it| it.blocks.to_string());
    let interval = estimate.and_then(|it| it.interval);
    let [low, high] = interval.map_or_else(Default::default, |it| {
        [it.low.to_string(), it.high.to_string()]
    });
    [median, min, max, blocks, validity, low, high, words]
}

/// A table with more columns does not fit on a page.
const COLUMNS_MAX: usize = 9;

/// The table or, if it is too wide, a separate table for each kind of column.
fn parts(found: &FigureTable) -> Vec<Table> {
    let columns = |groups: &[FigureGroup]| groups.iter().map(|it| it.columns.len()).sum::<usize>();
    if columns(&found.groups) <= COLUMNS_MAX {
        return vec![found.laid_out()];
    }
    let kinds = found.groups.chunk_by(|a, b| a.title == b.title);
    let mut from = 0;
    let part = |groups: &[FigureGroup]| {
        let cells = from..from + columns(groups);
        from = cells.end;
        let row = |row: &FigureRow| {
            let cells = row.cells[cells.clone()].to_vec();
            let validities = cells.iter().filter_map(|it| it.validity);
            let worst = validities.max().unwrap_or(Validity::Valid);
            FigureRow {
                validity: row.validity.map(|_| worst),
                cells,
                ..row.clone()
            }
        };
        let part = FigureTable {
            groups: groups.to_vec(),
            rows: found.rows.iter().map(row).collect(),
            ..found.clone()
        };
        part.laid_out()
    };
    kinds.map(part).collect()
}

fn effects(found: &Correction) -> Table {
    let value = |value: f64, scale: UnitScale| Cell::words(scale.number(value));
    let both = found.rows.iter().flat_map(|it| [it.their_way, it.measured]);
    let scale = UnitScale::of_all(both, found.unit);
    let ratio = UnitScale::of(1.0, Unit::Ratio);
    let ratios = found.rows.iter().map(|it| match it.ratio {
        Some(it) => value(it, ratio),
        None => Cell::Empty,
    });
    let lane = |head: &str, scale, cells| Lane {
        column: Column::named(head, scale),
        cells,
    };
    let cells = |of: fn(&CorrectionRow) -> f64, scale| {
        found.rows.iter().map(|it| value(of(it), scale)).collect()
    };
    let lanes = vec![
        lane(&found.heads[0], scale, cells(|it| it.their_way, scale)),
        lane(&found.heads[1], scale, cells(|it| it.measured, scale)),
        lane("÷", ratio, ratios.collect()),
    ];
    let rows = found.rows.iter().map(|it| Row::new(&it.name, "")).collect();
    Table::of_lanes(rows, vec![Lanes::new("", "", lanes)])
}

/// The text of a doubt: `: a; b; c; and 1 more: the observation. The remedy.`
fn doubt(found: &DocumentDoubt) -> String {
    const ROWS_MAX: usize = 3;
    let mut rows = found.rows[..found.rows.len().min(ROWS_MAX)].join("; ");
    if found.rows.len() > ROWS_MAX {
        rows.push_str(&format!("; and {} more", found.rows.len() - ROWS_MAX));
    }
    format!(": {rows}: {} {}", found.message, found.remedy)
}
