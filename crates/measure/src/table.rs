//! Tables of a result. A table is declared once, as a [`TableSpec`]; a [`TableBuilder`] accepts only the declared
//! columns. File formats, schemas, documentation and checks are derived from the declaration.

use std::collections::BTreeMap;

/// Declaration of a table: its name, a description of its rows, and its columns.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Name of the table, and of its file.
    pub name: &'static str,
    /// Description of a row, as a sentence.
    pub about: &'static str,
    /// Columns, in order, as groups. A group that several tables share is declared once.
    pub columns: &'static [&'static [ColumnSpec]],
}

/// Declaration of a column.
#[derive(Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name, which ends with the unit: `latency_mean_ns`.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// True if values may be null, which is NaN in memory. Only for [`Kind::Real`].
    pub is_nullable: bool,
    /// Unit; empty for counts, ratios and text.
    pub unit: &'static str,
    /// Description, as a sentence.
    pub about: &'static str,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned integers.
    Integer,
    /// Floating-point numbers.
    Real,
    /// Text.
    Text,
}

impl Kind {
    /// Returns the name of the type in declarations: "integer", "real" or "text".
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Text => "text",
        }
    }
}

/// Declares a column of unsigned integers.
pub const fn integer(name: &'static str, unit: &'static str, about: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: Kind::Integer, is_nullable: false, unit, about }
}

/// Declares a column of floating-point numbers that are never NaN.
pub const fn real(name: &'static str, unit: &'static str, about: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: Kind::Real, is_nullable: false, unit, about }
}

/// Declares a column of floating-point numbers in which NaN is null.
pub const fn real_or_null(name: &'static str, unit: &'static str, about: &'static str) -> ColumnSpec {
    ColumnSpec { is_nullable: true, ..real(name, unit, about) }
}

/// Declares a column of text.
pub const fn text(name: &'static str, about: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: Kind::Text, is_nullable: false, unit: "", about }
}

impl TableSpec {
    /// Returns the declarations of all columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static ColumnSpec> + use<> {
        self.columns.iter().copied().flatten()
    }
    /// Starts a table without values.
    pub fn builder(&'static self) -> TableBuilder {
        TableBuilder { spec: self, columns: self.columns().map(|spec| (spec, None)).collect() }
    }
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Unsigned integers.
    Integer(Vec<u64>),
    /// Floating-point numbers, in which NaN is null.
    Real(Vec<f64>),
    /// Text.
    Text(Vec<String>),
    /// Text with many repeated values.
    Named {
        /// Distinct texts.
        names: Vec<String>,
        /// Index into `names`, by row.
        of: Vec<u32>,
    },
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its declaration.
    pub spec: &'static ColumnSpec,
    /// One value per row.
    pub values: Values,
}

/// A table of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its declaration.
    pub spec: &'static TableSpec,
    /// The declared columns, of equal length.
    pub columns: Vec<Column>,
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
    /// Values of a column; `None` if no column has this name.
    pub fn values(&self, column: &str) -> Option<&Values> {
        self.columns.iter().find(|own| own.spec.name == column).map(|own| &own.values)
    }
}

/// Builds a table from its columns, which are set by name in any order.
///
/// Every method panics if the table declares no column of the name and type, or if the column has its values already.
#[derive(Debug)]
pub struct TableBuilder {
    spec: &'static TableSpec,
    columns: Vec<(&'static ColumnSpec, Option<Values>)>,
}

impl TableBuilder {
    /// Sets the values of a column of unsigned integers.
    #[must_use]
    pub fn integers(self, name: &str, values: impl IntoIterator<Item = u64>) -> TableBuilder {
        self.with(name, Values::Integer(values.into_iter().collect()))
    }
    /// Sets the values of a column of floating-point numbers.
    #[must_use]
    pub fn reals(self, name: &str, values: impl IntoIterator<Item = f64>) -> TableBuilder {
        self.with(name, Values::Real(values.into_iter().collect()))
    }
    /// Sets the values of a column of text.
    #[must_use]
    pub fn texts(self, name: &str, values: impl IntoIterator<Item = String>) -> TableBuilder {
        self.with(name, Values::Text(values.into_iter().collect()))
    }
    /// Sets the values of a column of text as indices into `names`.
    #[must_use]
    pub fn named(self, name: &str, names: Vec<String>, of: impl IntoIterator<Item = u32>) -> TableBuilder {
        let values = Values::Named { names, of: of.into_iter().collect() };
        self.with(name, values)
    }
    /// Sets the values of a column of text. The text of each distinct key is created once.
    #[must_use]
    pub fn named_by<K: Ord + Copy>(
        self,
        name: &str,
        keys: impl IntoIterator<Item = K>,
        text: impl Fn(K) -> String,
    ) -> TableBuilder {
        let (mut names, mut known) = (Vec::new(), BTreeMap::new());
        let mut last = None; // rows with the same key are often adjacent
        let of = keys.into_iter().map(|key| match last {
            Some((same, number)) if same == key => number,
            _ => {
                let number = *known.entry(key).or_insert_with(|| {
                    names.push(text(key));
                    names.len() as u32 - 1
                });
                last = Some((key, number));
                number
            }
        });
        let of: Vec<u32> = of.collect();
        self.named(name, names, of)
    }
    fn with(mut self, name: &str, values: Values) -> TableBuilder {
        let table = self.spec.name;
        let rows = self.columns.iter().find_map(|(_, values)| Some(values.as_ref()?.len()));
        assert!(
            rows.is_none_or(|rows| rows == values.len()),
            "{table}.{name} has {} values, other columns {rows:?}",
            values.len()
        );
        let kind = values.kind();
        let column = self.columns.iter_mut().find(|(spec, _)| spec.name == name && spec.kind == kind);
        let Some((spec, place)) = column else {
            panic!("the declaration of {table} has no column {name} of type {}", kind.name())
        };
        debug_assert!(spec.is_nullable || !values.has_null(), "{table}.{name} is declared without nulls");
        assert!(place.replace(values).is_none(), "{table}.{name} has its values twice");
        self
    }
    /// Finishes the table.
    ///
    /// # Panics
    ///
    /// If a declared column has no values.
    pub fn build(self) -> Table {
        let columns = self.columns.into_iter().map(|(spec, values)| {
            let values = values.unwrap_or_else(|| panic!("{}.{} has no values", self.spec.name, spec.name));
            Column { spec, values }
        });
        Table { spec: self.spec, columns: columns.collect() }
    }
}

impl Values {
    /// Returns the type of column that the values fit.
    pub const fn kind(&self) -> Kind {
        match self {
            Values::Integer(_) => Kind::Integer,
            Values::Real(_) => Kind::Real,
            Values::Text(_) | Values::Named { .. } => Kind::Text,
        }
    }
    /// Returns true if any value is null.
    pub fn has_null(&self) -> bool {
        matches!(self, Values::Real(values) if values.iter().any(|value| value.is_nan()))
    }
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Integer(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Text(values) => values.len(),
            Values::Named { of, .. } => of.len(),
        }
    }
    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    static SHARED: [ColumnSpec; 1] = [real("mean_ns", "ns", "Mean.")];
    static SPEC: TableSpec =
        TableSpec { name: "t", about: "A row.", columns: &[&[text("name", "Name.")], &SHARED] };

    #[test]
    fn a_name_is_made_once_a_key() {
        let made = Cell::new(0);
        let name = |key: u8| {
            made.set(made.get() + 1);
            format!("n{key}")
        };
        let table =
            SPEC.builder().named_by("name", [7, 7, 3, 7, 3, 3], name).reals("mean_ns", [0.5; 6]).build();
        assert_eq!(made.get(), 2);
        let names = vec!["n7".to_string(), "n3".to_string()];
        assert_eq!(table.values("name"), Some(&Values::Named { names, of: vec![0, 0, 1, 0, 1, 1] }));
    }

    #[test]
    fn columns_have_the_order_of_the_declaration() {
        let table = SPEC.builder().reals("mean_ns", [1.0]).texts("name", ["a".to_string()]).build();
        let names: Vec<&str> = table.columns.iter().map(|column| column.spec.name).collect();
        assert_eq!(names, ["name", "mean_ns"]);
        assert_eq!((table.rows(), table.values("max_ns")), (1, None));
    }

    #[test]
    #[should_panic(expected = "the declaration of t has no column max_ns of type real")]
    fn values_of_no_declared_column() {
        drop(SPEC.builder().reals("max_ns", [1.0]));
    }

    #[test]
    #[should_panic(expected = "the declaration of t has no column mean_ns of type integer")]
    fn values_of_another_type() {
        drop(SPEC.builder().integers("mean_ns", [1]));
    }

    #[test]
    #[should_panic(expected = "t.mean_ns is declared without nulls")]
    fn a_null_that_is_not_declared() {
        drop(SPEC.builder().reals("mean_ns", [f64::NAN]));
    }

    #[test]
    #[should_panic(expected = "t.mean_ns has its values twice")]
    fn values_given_twice() {
        drop(SPEC.builder().reals("mean_ns", [1.0]).reals("mean_ns", [1.0]));
    }

    #[test]
    #[should_panic(expected = "t.name has 2 values, other columns Some(1)")]
    fn columns_of_different_lengths() {
        drop(SPEC.builder().reals("mean_ns", [1.0]).texts("name", ["a".to_string(), "b".to_string()]));
    }

    #[test]
    #[should_panic(expected = "t.name has no values")]
    fn a_declared_column_without_values() {
        drop(SPEC.builder().reals("mean_ns", [1.0]).build());
    }
}
