//! Reads Parquet files of scenarios as CSV, with pyarrow, a number of rows at a time.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};
use std::io::{self, Read};
use std::path::Path;

/// Rows of a file, as the text of a CSV file.
struct Rows {
    chunks: Py<PyIterator>,
    /// Unread part of a chunk.
    chunk: Vec<u8>,
    read: usize,
}

/// Opens a file.
pub fn open(path: &Path) -> Result<Box<dyn Read>, String> {
    Python::attach(|py| {
        let chunks = py.import("penstock.storage")?.call_method1("csv_of_parquet", (path,))?;
        Ok(Box::new(Rows { chunks: chunks.try_iter()?.unbind(), chunk: Vec::new(), read: 0 })
            as Box<dyn Read>)
    })
    .map_err(|error: PyErr| one_line(&error))
}

fn one_line(error: &PyErr) -> String {
    let text = Python::attach(|py| error.value(py).to_string());
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_string()
}

impl Read for Rows {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.chunk.len() {
            let next = Python::attach(|py| -> PyResult<Option<Vec<u8>>> {
                let next = self.chunks.bind(py).clone().next().transpose()?;
                next.map(|chunk| Ok(chunk.cast::<PyBytes>()?.as_bytes().to_vec())).transpose()
            });
            match next.map_err(|error| io::Error::other(one_line(&error)))? {
                Some(chunk) => (self.chunk, self.read) = (chunk, 0),
                None => return Ok(0),
            }
        }
        let rest = &self.chunk[self.read..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}
