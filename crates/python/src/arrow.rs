//! Tables as Arrow streams, through the PyCapsule interface, so that pyarrow, Polars, pandas and DuckDB use them
//! without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use measure::{Column, ColumnSpec, Kind, Table, Values};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// One table of a result.
#[pyclass(name = "Table", module = "penstock._core", frozen)]
pub struct ArrowTable {
    batch: RecordBatch,
}

impl ArrowTable {
    /// Converts a table to Arrow's layout. `unit` and `about` of a column become metadata of its field. NaN becomes
    /// null, the missing value of all table formats.
    pub fn new(table: Table) -> Result<ArrowTable, ArrowError> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
        for Column { spec, values } in table.columns {
            fields.push(field(spec));
            arrays.push(match values {
                Values::Integer(values) => Arc::new(UInt64Array::from(values)),
                Values::Real(values) => Arc::new(known(values)),
                Values::Named { names, of } => Arc::new(spelt_out(&names, &of)?),
                Values::Text(values) => Arc::new(StringArray::from(values)),
            });
        }
        Ok(ArrowTable { batch: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)? })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }
}

#[pymethods]
impl ArrowTable {
    /// Returns the table as a stream with one batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer may request another schema. Returning the table's own schema is allowed; the consumer then casts
        // the columns.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Converts a column declaration to a field of Arrow and Parquet.
fn field(spec: &ColumnSpec) -> Field {
    let kind = match spec.kind {
        Kind::Integer => DataType::UInt64,
        Kind::Real => DataType::Float64,
        Kind::Text => DataType::Utf8,
    };
    let about = [("unit", spec.unit), ("about", spec.about)];
    let metadata = about.map(|(key, value)| (key.to_string(), value.to_string()));
    // Nullable in every version, so that tables of several versions can be concatenated.
    Field::new(spec.name, kind, spec.kind == Kind::Real)
        .with_metadata(metadata.into_iter().collect::<arrow_schema::Metadata>())
}

/// Converts floats to an array in which NaN is null.
fn known(values: Vec<f64>) -> Float64Array {
    let nulls = values.iter().any(|value| value.is_nan()).then(|| {
        let known = values.iter().map(|value| !value.is_nan());
        NullBuffer::from_iter(known)
    });
    Float64Array::new(values.into(), nulls)
}

/// Returns the name for each row, in memory that is allocated at once.
fn spelt_out(names: &[String], of: &[u32]) -> Result<StringArray, ArrowError> {
    let texts = || of.iter().map(|&name| names[name as usize].as_str());
    let offsets: OffsetBuffer<i32> = OffsetBuffer::from_lengths(texts().map(str::len));
    let mut bytes = Vec::with_capacity(offsets[of.len()] as usize);
    texts().for_each(|text| bytes.extend_from_slice(text.as_bytes()));
    StringArray::try_new(offsets, Buffer::from_vec(bytes), None)
}

/// Converts an Arrow error to a Python exception.
pub fn failed(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
