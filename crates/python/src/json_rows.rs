//! Rows of tables as JSON, formatted as Python's `json` does.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io::Write;

/// A column as Python passes it: a buffer of numbers; offsets and UTF-8 of texts, in Arrow's layout; or JSON.
#[derive(FromPyObject)]
pub enum Cells {
    Real(PyBuffer<f64>),
    Whole(PyBuffer<u64>),
    Text(PyBuffer<i32>, PyBuffer<u8>),
    Written(Vec<String>),
}

/// Values of a column.
enum Values {
    /// Floats; written as null if not finite.
    Real(Vec<f64>),
    Whole(Vec<u64>),
    /// Offsets of the start of each text and of the end of the last one, and the texts.
    Text(Vec<i32>, String),
    Written(Vec<String>),
}

impl Values {
    fn new(py: Python<'_>, cells: Cells) -> PyResult<Values> {
        Ok(match cells {
            Cells::Real(values) => Values::Real(values.to_vec(py)?),
            Cells::Whole(values) => Values::Whole(values.to_vec(py)?),
            Cells::Text(offsets, bytes) => {
                let text = String::from_utf8(bytes.to_vec(py)?);
                Values::Text(offsets.to_vec(py)?, text.map_err(|why| PyValueError::new_err(why.to_string()))?)
            }
            Cells::Written(values) => Values::Written(values),
        })
    }
    fn len(&self) -> usize {
        match self {
            Values::Real(values) => values.len(),
            Values::Whole(values) => values.len(),
            Values::Text(offsets, _) => offsets.len().saturating_sub(1),
            Values::Written(values) => values.len(),
        }
    }
    fn write(&self, row: usize, ascii_only: bool, json: &mut Vec<u8>) {
        match self {
            Values::Real(values) => write_real(values[row], json),
            // Writing to memory cannot fail.
            Values::Whole(values) => _ = write!(json, "{}", values[row]),
            Values::Text(offsets, text) => {
                let (begin, end) = (offsets[row] as usize, offsets[row + 1] as usize);
                write_text(text.get(begin..end).unwrap_or_default(), ascii_only, json);
            }
            Values::Written(values) => json.extend(values[row].as_bytes()),
        }
    }
}

/// Formats each row as `texts[0]`, the first cell, `texts[1]` and so on, with `between` between rows.
pub fn json_rows(
    py: Python<'_>,
    texts: &[String],
    columns: Vec<Cells>,
    ascii_only: bool,
    between: &str,
) -> PyResult<String> {
    let columns: Vec<Values> =
        columns.into_iter().map(|cells| Values::new(py, cells)).collect::<PyResult<_>>()?;
    let rows = columns.first().map_or(0, Values::len);
    if texts.len() != columns.len() + 1 || columns.iter().any(|column| column.len() != rows) {
        return Err(PyValueError::new_err("columns of equal length, and one text more, are expected"));
    }
    let mut json = Vec::new();
    for row in 0..rows {
        json.extend(if row == 0 { &[] } else { between.as_bytes() });
        for (before, column) in texts.iter().zip(&columns) {
            json.extend(before.as_bytes());
            column.write(row, ascii_only, &mut json);
        }
        json.extend(texts[columns.len()].as_bytes());
    }
    String::from_utf8(json).map_err(|why| PyValueError::new_err(why.to_string()))
}

/// Writes a float with the fewest digits that parse to the same value, like `repr` of Python: with an exponent below
/// 1e-4 and from 1e16 on, which has a sign and at least two digits.
fn write_real(value: f64, json: &mut Vec<u8>) {
    if !value.is_finite() {
        return json.extend(b"null");
    }
    let begin = json.len();
    if value != 0.0 && value.abs() < 1e-4 {
        _ = write!(json, "{value:e}");
    } else {
        // serde_json chooses the even one of two decimals that are equally close, like Python and unlike the standard
        // library.
        _ = serde_json::to_writer(&mut *json, &value);
    }
    let Some(at) = json[begin..].iter().position(|&byte| byte == b'e') else { return };
    let exponent = str::from_utf8(&json[begin + at + 1..]).ok().and_then(|text| text.parse::<i32>().ok());
    json.truncate(begin + at);
    _ = write!(json, "e{:+03}", exponent.unwrap_or_default());
}

fn write_text(text: &str, ascii_only: bool, json: &mut Vec<u8>) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    json.push(b'"');
    if text.bytes().all(is_plain) {
        json.extend(text.as_bytes());
    } else {
        text.chars().for_each(|one| write_char(one, ascii_only, json));
    }
    json.push(b'"');
}

fn write_char(one: char, ascii_only: bool, json: &mut Vec<u8>) {
    match one {
        '"' => json.extend(b"\\\""),
        '\\' => json.extend(b"\\\\"),
        '\n' => json.extend(b"\\n"),
        '\r' => json.extend(b"\\r"),
        '\t' => json.extend(b"\\t"),
        '\u{8}' => json.extend(b"\\b"),
        '\u{c}' => json.extend(b"\\f"),
        one if one < ' ' || ascii_only && one > '~' => {
            for unit in one.encode_utf16(&mut [0; 2]) {
                _ = write!(json, "\\u{unit:04x}");
            }
        }
        one => json.extend(one.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
