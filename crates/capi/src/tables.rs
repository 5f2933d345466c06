//! Writes tables as CSV files.

use crate::border::Wrong;
use measure::{Table, Values};
use std::fmt::Write;
use std::path::Path;

/// Writes each table to a file with its name, and creates the directory.
pub(crate) fn write(tables: &[Table], directory: &Path) -> Result<(), Wrong> {
    let failed = |path: &Path, why: std::io::Error| {
        Wrong::input(format!("cannot write \"{}\": {why}", path.display()))
    };
    std::fs::create_dir_all(directory).map_err(|why| failed(directory, why))?;
    for table in tables {
        let path = directory.join(format!("{}.csv", table.spec.name));
        std::fs::write(&path, csv(table)).map_err(|why| failed(&path, why))?;
    }
    Ok(())
}

fn csv(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.spec.name).collect();
    let mut text = names.join(",");
    text.push('\n');
    for row in 0..table.rows() {
        for (nth, column) in table.columns.iter().enumerate() {
            if nth > 0 {
                text.push(',');
            }
            value(&column.values, row, &mut text);
        }
        text.push('\n');
    }
    text
}

/// Appends a value; null is empty. Numbers are written so that parsing them returns the same value.
fn value(values: &Values, row: usize, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match values {
        Values::Integer(all) => write!(text, "{}", all[row]),
        Values::Real(all) if all[row].is_nan() => Ok(()),
        Values::Real(all) => write!(text, "{}", all[row]),
        Values::Text(all) => write!(text, "{}", quoted(&all[row])),
        Values::Named { names, of } => write!(text, "{}", quoted(&names[of[row] as usize])),
    };
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
