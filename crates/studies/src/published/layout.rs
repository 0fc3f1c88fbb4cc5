//! Lays out the tables of a document: the rows of the run under the document's columns.

use gatebench_model::Variant;
use gatebench_model::published::{
    Across, ColumnGroup, Figure, Figures, LoadChoice, Published, PublishedColumn, PublishedTable,
    RowKind, Show,
};
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::{Unit, Validity};
use gatebench_store::StoreError;

use super::corrections::Case;
use super::figures::{of_ratios, over, points, ratio, unit_and_aspect, worst};
use super::measured::{Load, Measured, loads_in_words};
use super::rows::{Line, Page, Size, chosen, cpus, lines, nearest, pages};
use super::targets::{Target, targets};
use super::versions::stands;
use super::{checks, doubts};
use crate::common::joined;

#[derive(Default)]
pub(super) struct Laid<'a> {
    pub(super) tables: Vec<FigureTable>,
    /// Sentences on rows and tables that the run lacks.
    pub(super) absent: Vec<String>,
    /// Sentences on columns without any measured value, with duplicates if several tables have such
    /// a column.
    pub(super) unmeasured: Vec<String>,
    /// The measured rows of scenarios, for the first gateway that has any. One gateway is enough to
    /// show the effects of measurement methods.
    pub(super) cases: Vec<Case<'a>>,
    /// The gateway whose rows are in `cases`.
    shown: Option<&'a str>,
}

/// Lays out all tables. The tables by version or by run of the same scenario are consecutive.
pub(super) fn lay_out<'a>(
    document: &'a Published,
    measured: &Measured<'a>,
) -> Result<Laid<'a>, StoreError> {
    let mut laid = Laid::default();
    let targets = targets(measured);
    let of_scenario = |it: &PublishedTable| matches!(it.row, RowKind::Version | RowKind::Run);
    let together = document
        .tables
        .chunk_by(|a, b| of_scenario(a) && of_scenario(b));
    for tables in together {
        let before = laid.tables.len();
        for page in pages(measured, &tables[0]) {
            for table in tables {
                let is_first = laid.tables.len() == before;
                let size = |variant: &Variant| {
                    let cpus = cpus(measured, variant);
                    (cpus, nearest(table, cpus))
                };
                let sheet = Sheet {
                    document,
                    measured,
                    stated: table,
                    page,
                    targets: &targets,
                    lines: lines(measured, table, page, &targets),
                    size: match page {
                        Page::Gateway(variant) if table.by_cpus => Some(size(variant)),
                        _ => None,
                    },
                };
                laid.add(&sheet, is_first)?;
            }
        }
        if laid.tables.len() == before {
            let suite = suite(document, &tables[0]);
            laid.absent.extend(tables[0].title.as_ref().map(|title| {
                format!(
                    "This run has no measurements for '{title}'. The suite '{suite}' measures it."
                )
            }));
        }
    }
    Ok(laid)
}

fn suite<'a>(document: &'a Published, table: &'a PublishedTable) -> &'a str {
    table.suite.as_deref().unwrap_or(&document.suite)
}

impl<'a> Laid<'a> {
    fn add(&mut self, sheet: &Sheet<'_, 'a>, is_first: bool) -> Result<(), StoreError> {
        if !sheet.has_loads() {
            return Ok(());
        }
        let groups = sheet.groups();
        let table = sheet.table(&groups)?;
        self.unmeasured.extend(sheet.unmeasured(&groups, &table));
        self.tables.push(table);
        if is_first {
            self.absent.extend(sheet.not_in_run());
        }
        if let Page::Gateway(variant) = sheet.page
            && *self.shown.get_or_insert(variant.label()) == variant.label()
        {
            self.cases.extend(sheet.cases());
        }
        Ok(())
    }
}

struct Column<'a> {
    stated: &'a PublishedColumn,
    head: [String; 2],
    load: LoadChoice,
    /// The index of the target, if the column shows the loads of only one target.
    target: Option<usize>,
}

struct Group<'a> {
    title: &'a str,
    label: String,
    columns: Vec<Column<'a>>,
}

/// A table of one subject.
struct Sheet<'s, 'a> {
    document: &'a Published,
    measured: &'s Measured<'a>,
    stated: &'a PublishedTable,
    page: Page<'a>,
    targets: &'s [Target<'a>],
    lines: Vec<Line<'a>>,
    /// The number of CPUs of the gateway and the nearest published size, if there is a table for
    /// each number of CPUs.
    size: Option<(f64, Option<Size<'a>>)>,
}

impl<'a> Sheet<'_, 'a> {
    /// The loads that columns show by default.
    fn load(&self) -> LoadChoice {
        let usual = match self.stated.row {
            RowKind::Scenario => LoadChoice::Users,
            RowKind::Connections | RowKind::Version | RowKind::Run => LoadChoice::Connections,
        };
        self.stated.load.unwrap_or(usual)
    }

    fn has_loads(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|it| !chosen(&it.loads, self.load()).is_empty())
    }

    fn title(&self) -> String {
        let subject = match (self.page, &self.size) {
            (Page::Gateway(variant), Some((cpus, _))) => {
                format!("{} on {cpus} CPU", variant.label())
            }
            (Page::Gateway(variant), None) => variant.label().to_owned(),
            (Page::Scenario(scenario), _) => scenario.to_owned(),
            (Page::Whole, _) => return self.stated.title.clone().unwrap_or_default(),
        };
        match &self.stated.title {
            Some(title) => format!("{subject}: {title}"),
            None => subject,
        }
    }

    fn table(&self, groups: &[Group<'a>]) -> Result<FigureTable, StoreError> {
        let columns: Vec<&Column<'a>> = groups.iter().flat_map(|it| &it.columns).collect();
        let shown = self.lines.iter().filter(|it| self.is_shown(it));
        let rows = shown.map(|line| self.row(line, &columns));
        let column = |it: &Column<'a>| FigureColumn {
            head: it.head.clone(),
            unit: match it.stated.show {
                Show::Measured => unit_and_aspect(it.stated.figure).0,
                _ => Unit::Ratio,
            },
        };
        let group = |it: &Group<'a>| FigureGroup {
            title: it.title.to_owned(),
            label: it.label.clone(),
            columns: it.columns.iter().map(column).collect(),
        };
        Ok(FigureTable {
            title: self.title(),
            first: self.stated.row.as_str(),
            groups: groups.iter().map(group).collect(),
            rows: rows.collect::<Result<_, StoreError>>()?,
        })
    }

    fn is_shown(&self, line: &Line<'a>) -> bool {
        let is_in_run = |scenario| self.measured.scenario(scenario).is_some();
        self.stated.keeps_absent || line.scenario.is_none_or(is_in_run)
    }

    fn groups(&self) -> Vec<Group<'a>> {
        let stated = match self.stated.groups.is_empty() {
            true => &self.document.groups,
            false => &self.stated.groups,
        };
        let of_group = |group: &'a ColumnGroup| -> Vec<Group<'a>> {
            let targets = 0..self.targets.len();
            match group.each_target {
                true => targets.map(|it| self.group(group, Some(it))).collect(),
                false => vec![self.group(group, None)],
            }
        };
        stated.iter().flat_map(of_group).collect()
    }

    fn group(&self, group: &'a ColumnGroup, target: Option<usize>) -> Group<'a> {
        let load = group.load.unwrap_or(self.load());
        let label = match (target, &group.label) {
            (Some(target), _) => self.targets[target].name.clone(),
            (None, Some(label)) => label.clone(),
            (None, None) => self.loads_in_words(load),
        };
        let columns = group.columns.iter();
        Group {
            title: &group.group,
            label,
            columns: columns
                .flat_map(|it| self.columns(it, load, target))
                .collect(),
        }
    }

    fn loads_in_words(&self, load: LoadChoice) -> String {
        let lines = self.lines.iter();
        let loads: Vec<Load<'a>> = lines.flat_map(|it| chosen(&it.loads, load)).collect();
        match loads_in_words(loads.iter()) {
            none if none.is_empty() => "no load at one rate".into(),
            loads => loads,
        }
    }

    /// Returns the column or, if it has no header, one column for each target. The upstream is not
    /// compared with itself.
    fn columns(
        &self,
        stated: &'a PublishedColumn,
        load: LoadChoice,
        target: Option<usize>,
    ) -> Vec<Column<'a>> {
        let column = |first: &str, second: String, target| Column {
            stated,
            head: [first.to_owned(), second],
            load: stated.load.unwrap_or(load),
            target,
        };
        let Some(first) = stated.head.first() else {
            let targets = self.targets.iter().enumerate();
            let asked = targets.filter(|(_, it)| stated.show != Show::Ratio || !it.is_direct);
            let columns = asked.map(|(place, it)| column(&it.name, String::new(), Some(place)));
            return columns.collect();
        };
        let size = self.size.as_ref().and_then(|(_, nearest)| nearest.as_ref());
        let of_size = size.filter(|_| stated.show == Show::Published);
        let of_size = of_size.map(|it| format!("{} CPU", it.cpus));
        let second = stated.head.get(1).cloned().or(of_size);
        vec![column(first, second.unwrap_or_default(), target)]
    }

    fn row(&self, line: &Line<'a>, columns: &[&Column<'a>]) -> Result<FigureRow, StoreError> {
        let cells = columns.iter().map(|it| self.cell(line, it));
        let cells: Vec<FigureCell> = cells.collect::<Result<_, StoreError>>()?;
        Ok(FigureRow {
            name: line.name.clone(),
            variant: line.variant.into(),
            absence: self.absence(line),
            validity: worst(&cells),
            cells,
        })
    }

    /// The reason why a row of a scenario has no cells.
    fn absence(&self, line: &Line<'a>) -> Option<String> {
        let scenario = line
            .scenario
            .filter(|_| self.stated.row == RowKind::Scenario)?;
        let absence = self.measured.absence(scenario, line.variant);
        if absence.is_some() || self.load() != LoadChoice::Users {
            return absence;
        }
        let loads = chosen(&line.loads, LoadChoice::Users);
        let why = if loads.is_empty() {
            "no load of users who send as soon as they have a response"
        } else if loads.iter().all(|it| it.rate().is_none()) {
            "no response within the measurement"
        } else {
            return None;
        };
        Some(why.into())
    }

    fn cell(&self, line: &Line<'a>, column: &Column<'a>) -> Result<FigureCell, StoreError> {
        let published = || FigureCell::of_one(self.published(line, column));
        Ok(match column.stated.show {
            Show::Measured => self.value(line, column)?,
            Show::Ratio => self.ratio(line, column)?,
            Show::Published => published(),
            Show::RatioToPublished => of_ratios(&self.ratio(line, column)?, &published()),
        })
    }

    fn loads(&self, line: &Line<'a>, column: &Column<'a>) -> Vec<Load<'a>> {
        match column.target.zip(line.connections) {
            Some((target, number)) => self.targets[target].at(number),
            None => chosen(&line.loads, column.load),
        }
    }

    /// The cell of a measured figure. In tables by version, figures that combine several runs
    /// exclude invalid runs, except sums and checks.
    fn value(&self, line: &Line<'a>, column: &Column<'a>) -> Result<FigureCell, StoreError> {
        let mut loads = self.loads(line, column);
        if column.stated.figure == Figure::Checks {
            let of_target = column.target.map(|it| self.targets[it].scenario);
            let scenario = of_target.or(line.scenario);
            let scenario = scenario.and_then(|it| self.measured.scenario(it));
            return Ok(checks::cell(&loads, scenario));
        }
        if self.stated.row == RowKind::Version && column.stated.across != Across::Sum {
            loads.retain(stands);
            if loads.is_empty() {
                return Ok(FigureCell {
                    validity: Some(Validity::Invalid),
                    ..FigureCell::default()
                });
            }
        }
        over(&loads, column.stated.figure, column.stated.across)
    }

    /// The base row with which a row is compared; `None` for the base row itself.
    fn base(&self, line: &Line<'a>) -> Option<&Line<'a>> {
        let own = line.published?.base.as_ref();
        let base = own.or(self.stated.base.as_ref())?;
        let found = self.lines.iter().find(|it| it.name == *base);
        found.filter(|it| it.name != line.name)
    }

    /// The measured figure divided by that of the base, or by that of the upstream at the same
    /// number of connections.
    fn ratio(&self, line: &Line<'a>, column: &Column<'a>) -> Result<FigureCell, StoreError> {
        let base = match line.connections {
            Some(number) => {
                let direct = self.targets.iter().find(|it| it.is_direct);
                direct.map(|it| it.at(number)).unwrap_or_default()
            }
            None => match self.base(line) {
                Some(base) => chosen(&base.loads, column.load),
                None => return Ok(FigureCell::default()),
            },
        };
        let figure = column.stated.figure;
        let own = points(&self.loads(line, column), figure)?;
        let seed = self.measured.run.manifest().plan.seed;
        Ok(ratio(&own, &points(&base, figure)?, seed))
    }

    /// The published figure divided by that of the base. In tables by connections, the base is a
    /// target.
    fn published(&self, line: &Line<'a>, column: &Column<'a>) -> Option<f64> {
        let figure = column.stated.figure;
        if line.connections.is_some() {
            let mut rows = self.stated.rows.iter();
            let row = rows.find(|it| it.row == line.name)?;
            let of = |target: &str| row.published_of.get(target)?.get(figure);
            return Some(of(&column.head[0])? / of(self.stated.base.as_deref()?)?);
        }
        let (own, base) = (self.figures(line)?, self.figures(self.base(line)?)?);
        let over_base = |figure| Some(own.get(figure)? / base.get(figure)?);
        match figure {
            // Most documents do not publish CPU time. If the loads kept all CPUs busy in both rows,
            // the ratio of CPU times is the inverse of that of rates.
            Figure::Cpu => {
                let of_rates = || over_base(Figure::Rate).map(f64::recip);
                over_base(Figure::Cpu).or_else(of_rates)
            }
            figure => over_base(figure),
        }
    }

    /// The published figures of a row, for the nearest size.
    fn figures(&self, line: &Line<'a>) -> Option<&'a Figures> {
        let row = line.published?;
        match &self.size {
            Some((_, Some(size))) => row.published_of.get(size.key),
            _ => Some(&row.published),
        }
    }

    /// A sentence on the rows that the suite has but the run does not.
    fn not_in_run(&self) -> Option<String> {
        let absent = self.lines.iter().filter(|it| !self.is_shown(it));
        let absent = joined(absent.map(|it| &it.name), "; ");
        (!absent.is_empty()).then(|| {
            let suite = suite(self.document, self.stated);
            format!("These rows are not in this run: {absent}. The suite '{suite}' has them.")
        })
    }

    /// A sentence for each column without a measured value, on how to measure it.
    fn unmeasured(&self, groups: &[Group<'a>], table: &FigureTable) -> Vec<String> {
        let present = || table.rows.iter().filter(|it| it.absence.is_none());
        // If all rows of a table state why they are absent, no further reason is needed.
        if present().next().is_none() {
            return Vec::new();
        }
        let columns = groups.iter().flat_map(|group| {
            let columns = group.columns.iter();
            columns.map(move |column| (group.title, column))
        });
        let note = |(place, (group, column)): (usize, (&str, &Column<'a>))| {
            let is_empty = |row: &FigureRow| {
                let cell = &row.cells[place];
                cell.validity.is_none() && cell.words.is_none()
            };
            let how = doubts::how(&self.document.suite, column.stated, column.load)?;
            let head = column.head.join(" ");
            let head = head.trim();
            present()
                .all(is_empty)
                .then(|| format!("{head} ({group}) was not measured; {how}"))
        };
        columns.enumerate().filter_map(note).collect()
    }

    fn cases(&self) -> Vec<Case<'a>> {
        let case = |line: &Line<'a>| Case {
            name: line.name.clone(),
            loads: chosen(&line.loads, self.load()),
            open: chosen(&line.loads, LoadChoice::Rate),
            published: line.published.map(|it| &it.published),
        };
        let mut cases: Vec<Case<'a>> = self.lines.iter().map(case).collect();
        cases.retain(|it| !it.loads.is_empty());
        cases
    }
}
