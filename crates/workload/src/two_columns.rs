//! Reads files of two columns, the format of distributions.

use std::ops::Range;

/// Callback for an error: its position in a text, the problem, and the accepted values.
pub type Report<'r> = &'r mut dyn FnMut(Range<usize>, String, String);

/// Passes each line below this header to `take`, except empty lines and comments. Reports the first line that `take`
/// rejects: `wrong[0]` is the problem, `wrong[1]` the accepted values.
pub fn rows(
    text: &str,
    header: [&str; 2],
    wrong: [&str; 2],
    report: Report<'_>,
    mut take: impl FnMut(&str, &str) -> Option<()>,
) -> Option<()> {
    let mut start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut is_header = true;
    for line in text[start..].split_inclusive('\n') {
        let at = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        if std::mem::take(&mut is_header) {
            if columns != header {
                let help = format!("expected the first line to be {}", header.join(","));
                report(at, format!("\"{line}\" is not the header"), help);
                return None;
            }
            continue;
        }
        let taken = match columns.as_slice() {
            &[first, second] => take(first, second),
            _ => None,
        };
        if taken.is_none() {
            report(at, format!("\"{line}\" is {}", wrong[0]), wrong[1].into());
            return None;
        }
    }
    Some(())
}
