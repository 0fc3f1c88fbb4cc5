//! Data sources and templates in JavaScript.

use std::collections::BTreeMap;

use gatebench_model::Source;
use gatebench_model::data::{List, Pick, Sequence};
use gatebench_model::template::{Piece, Template};

use crate::text::js;

pub(super) type Sources = BTreeMap<String, Source>;

/// Returns a string of a request as JavaScript: a literal, or an expression if it contains values
/// from sources.
pub(super) fn text(text: &str, sources: &Sources) -> String {
    let Ok(template) = Template::parse(text) else {
        // Invalid templates were refused when the scenario was read.
        return js(text);
    };
    let pieces = template.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => js(text),
        Piece::Value(value) => {
            let column = column(sources.get(&value.source), value.column.as_deref());
            format!("row({})[{column}]", js(&value.source))
        }
    });
    match &pieces.collect::<Vec<_>>()[..] {
        [] => "''".into(),
        [only] if only.starts_with('\'') => only.clone(),
        // A value may be a number, which must become a string.
        [only] => format!("'' + {only}"),
        pieces => pieces.join(" + "),
    }
}

/// Reports whether a string is a template that contains a value from a source.
pub(super) fn is_filled(text: &str) -> bool {
    Template::parse(text).is_ok_and(|template| template.constant().is_none())
}

pub(super) fn draws_from(text: &str, source: &str) -> bool {
    let is_drawn = |template: Template| template.references().any(|it| it.source == source);
    Template::parse(text).is_ok_and(is_drawn)
}

pub(super) fn is_in_turn(source: &Source) -> bool {
    matches!(source, Source::Sequence(_)) || picks(source, Pick::InTurn)
}

fn column(source: Option<&Source>, name: Option<&str>) -> usize {
    let Some(Source::List(list)) = source else {
        return 0;
    };
    let mut columns = list.columns.iter().map(String::as_str);
    columns.position(|column| Some(column) == name).unwrap_or(0)
}

/// Returns the definitions of the sources and of the functions that they use. With `has_turns`,
/// each request states its turns, so that a source that only some requests use skips no values.
pub(super) fn definitions(sources: &Sources, has_turns: bool) -> String {
    let (rows_of_request, turn) = match has_turns {
        true => (ROWS_BY_TURN, "turn"),
        false => (ROWS, "exec.scenario.iterationInTest"),
    };
    let parameter = if has_turns { turn } else { "" };
    let mut lines = format!("{rows_of_request}{BETWEEN}");
    let uses = |wanted: fn(&Source) -> bool| sources.values().any(wanted);
    if uses(|source| matches!(source, Source::Normal(_)) || picks(source, Pick::Normal)) {
        lines += GAUSS;
    }
    if uses(|source| matches!(source, Source::Zipf(_)) || picks(source, Pick::Zipf)) {
        lines += ZIPF;
    }
    for (index, source) in sources.values().enumerate() {
        if let Source::List(list) = source {
            lines += &format!("\nconst ROWS_{index} = {};\n", rows(list));
        }
    }
    lines += "\nconst SOURCES = {\n";
    for (index, (name, source)) in sources.iter().enumerate() {
        let drawn = draw(source, index, turn);
        lines += &format!("  {}: ({parameter}) => {drawn},\n", js(name));
    }
    lines + "};\n"
}

fn picks(source: &Source, pick: Pick) -> bool {
    matches!(source, Source::List(list) if list.pick == pick)
}

fn rows(list: &List) -> String {
    let width = list.columns.len().max(1);
    let row = |row| {
        let values = (0..width).filter_map(|column| list.values.get(row, column));
        format!("[{}]", values.map(js).collect::<Vec<_>>().join(", "))
    };
    let rows: Vec<String> = (0..list.values.len()).map(row).collect();
    format!("[{}]", rows.join(", "))
}

/// Returns an expression that draws a row, or an array with a single number. `turn` is the
/// expression for the number of earlier values.
fn draw(source: &Source, index: usize, turn: &str) -> String {
    match source {
        Source::Sequence(Sequence { from, step }) => {
            format!("[{from} + {step} * {turn}]")
        }
        Source::Uniform(it) => format!("[between({}, {})]", it.min, it.max),
        Source::Normal(it) => {
            let (mean, deviation) = (it.mean, it.standard_deviation);
            format!("[Math.round({mean} + {deviation} * gauss())]")
        }
        Source::Zipf(it) => format!("[zipf({}, {})]", it.items, it.exponent),
        Source::List(list) => format!("ROWS_{index}[{}]", row_of(list, turn)),
    }
}

fn row_of(list: &List, turn: &str) -> String {
    let (last, count) = (list.values.len().saturating_sub(1), list.values.len());
    match list.pick {
        Pick::InTurn => format!("{turn} % {count}"),
        Pick::Uniform => format!("between(0, {last})"),
        Pick::Normal => format!("middle({count})"),
        Pick::Zipf => format!("zipf({count}, {}) - 1", list.exponent.unwrap_or(1.0)),
    }
}

const ROWS: &str = "
// Each source is drawn from at most once per request, however often the request uses its values.
function rows() {
  const drawn = {};
  return (name) => {
    if (!(name in drawn)) drawn[name] = SOURCES[name]();
    return drawn[name];
  };
}
";

const ROWS_BY_TURN: &str = "
// Each source is drawn from at most once per request, however often the request uses its values.
// The turns of a request are, for each source, the number of requests before it that use the
// source, and the number of all requests that do.
function rows(requests, request) {
  const drawn = {};
  const cycle = Math.floor(exec.scenario.iterationInTest / requests.length);
  return (name) => {
    if (!(name in drawn)) {
      const [before, all] = request.turns[name];
      drawn[name] = SOURCES[name](cycle * all + before);
    }
    return drawn[name];
  };
}
";

const BETWEEN: &str = "
function between(min, max) {
  return Math.floor(min + (max - min + 1) * Math.random());
}
";

const GAUSS: &str = "
// Standard normal (Box and Muller).
function gauss() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

// The index of a row, most often near the middle. Numbers out of range are drawn again.
function middle(count) {
  for (;;) {
    const row = Math.round((count - 1) / 2 + (count / 6) * gauss());
    if (row >= 0 && row < count) return row;
  }
}
";

const ZIPF: &str = "
// Zipf's law by rejection-inversion (Hörmann and Derflinger, 1996).
function zipf(items, exponent) {
  const area = (x) => (exponent === 1 ? Math.log(x) : Math.pow(x, 1 - exponent) / (1 - exponent));
  const inverse = (y) => (exponent === 1 ? Math.exp(y) : Math.pow(y * (1 - exponent), 1 / (1 - exponent)));
  const low = area(1.5) - 1;
  const high = area(items + 0.5);
  for (;;) {
    const drawn = low + Math.random() * (high - low);
    const number = Math.min(items, Math.max(1, Math.round(inverse(drawn))));
    if (drawn >= area(number + 0.5) - Math.pow(number, -exponent)) return number;
  }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        serde_json::from_str(
            r#"{"users": {"list": {"columns": ["id", "name"], "values": [["1", "it's"], ["2", "b"]]}},
                "n": {"sequence": {"from": 5, "step": 2}}, "z": {"zipf": {"items": 9}}}"#,
        )
        .unwrap()
    }

    #[test]
    fn templates_become_concatenated_strings() {
        let sources = sources();
        assert_eq!(text("/plain", &sources), "'/plain'");
        assert_eq!(text("", &sources), "''");
        assert_eq!(text("{{ n }}", &sources), "'' + row('n')[0]");
        assert_eq!(
            text("/u/{{ users.name }}?n={{ n }}", &sources),
            "'/u/' + row('users')[1] + '?n=' + row('n')[0]"
        );
        assert_eq!(text("{{ \"{{\" }}x", &sources), "'{{x'");
        assert!(is_filled("{{ n }}") && !is_filled("{{ \"{{\" }}"));
    }

    #[test]
    fn only_the_needed_helpers_are_defined() {
        let text = definitions(&sources(), false);
        for part in [
            "const ROWS_1 = [['1', 'it\\'s'], ['2', 'b']];",
            "'n': () => [5 + 2 * exec.scenario.iterationInTest],",
            "'users': () => ROWS_1[exec.scenario.iterationInTest % 2],",
            "'z': () => [zipf(9, 1)],",
            "function zipf",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("function gauss"));
        let text = definitions(&sources(), true);
        assert!(text.contains("'n': (turn) => [5 + 2 * turn],"), "{text}");
        assert!(
            text.contains("'users': (turn) => ROWS_1[turn % 2],"),
            "{text}"
        );
    }
}
