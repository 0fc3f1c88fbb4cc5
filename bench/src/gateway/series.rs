//! Reads the series of a trial, which has a row for each second.

use std::path::Path;

/// Returns the values of the named columns, row by row; rows that lack one of them are omitted.
pub fn columns<const N: usize>(trial: &Path, names: [&str; N]) -> Result<Vec<[u64; N]>, String> {
    let path = trial.join("series.csv");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    of_text(&text, names)
}

fn of_text<const N: usize>(text: &str, names: [&str; N]) -> Result<Vec<[u64; N]>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| format!("the series cannot be read: {error}");
    let head = reader.headers().map_err(unreadable)?;
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        let found = head.iter().position(|one| one == name);
        *place = found.ok_or_else(|| format!("the series has no column '{name}'"))?;
    }
    let mut rows = Vec::new();
    for cells in reader.records() {
        let cells = cells.map_err(unreadable)?;
        let value = |place: usize| cells.get(place)?.parse().ok();
        let row: Option<Vec<u64>> = places.into_iter().map(value).collect();
        rows.extend(row.and_then(|row| <[u64; N]>::try_from(row).ok()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        let text = "second,completed,gateway_rss_anon_bytes\n0,7,1024\n1,,4096\n2,8,2048\n";
        let read = of_text(text, ["gateway_rss_anon_bytes", "completed"]);
        assert_eq!(read, Ok(vec![[1024, 7], [2048, 8]]));
        assert!(of_text("a,b\n", ["c"]).is_err_and(|why| why.contains("no c")));
    }
}
