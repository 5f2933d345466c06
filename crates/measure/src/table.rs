//! Tables that say what they contain: the result of a simulation.

use std::collections::BTreeMap;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts.
    Integer(Vec<u64>),
    /// Measures.
    Real(Vec<f64>),
    /// Names.
    Text(Vec<String>),
    /// Names of which many rows have the same.
    Named {
        /// Each once.
        names: Vec<String>,
        /// Which of them each row has.
        of: Vec<u32>,
    },
}

/// A column: name (with its unit last), unit, meaning, values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, ending in the unit: `latency_mean_ns`.
    pub name: &'static str,
    /// Unit; empty for counts and names.
    pub unit: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// One value a row.
    pub values: Values,
}

/// A table of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// What a row is, in a sentence.
    pub about: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, about: &'static str) -> Table {
        Table { name, about, columns: Vec::new() }
    }
    /// With a column of counts.
    #[must_use]
    pub fn integers(
        self,
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        values: impl IntoIterator<Item = u64>,
    ) -> Table {
        self.with(Column { name, unit, about, values: Values::Integer(values.into_iter().collect()) })
    }
    /// With a column of measures.
    #[must_use]
    pub fn reals(
        self,
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        values: impl IntoIterator<Item = f64>,
    ) -> Table {
        self.with(Column { name, unit, about, values: Values::Real(values.into_iter().collect()) })
    }
    /// With a column of names.
    #[must_use]
    pub fn texts(
        self,
        name: &'static str,
        about: &'static str,
        values: impl IntoIterator<Item = String>,
    ) -> Table {
        self.with(Column { name, unit: "", about, values: Values::Text(values.into_iter().collect()) })
    }
    /// With a column of names, of which many rows have the same: `of` are indices into `names`.
    #[must_use]
    pub fn named(
        self,
        name: &'static str,
        about: &'static str,
        names: Vec<String>,
        of: impl IntoIterator<Item = u32>,
    ) -> Table {
        let values = Values::Named { names, of: of.into_iter().collect() };
        self.with(Column { name, unit: "", about, values })
    }
    /// With a column of names, of which many rows have the same: each is made once, of a key that its rows share.
    #[must_use]
    pub fn named_by<K: Ord + Copy>(
        self,
        name: &'static str,
        about: &'static str,
        keys: impl IntoIterator<Item = K>,
        text: impl Fn(K) -> String,
    ) -> Table {
        let (mut names, mut known) = (Vec::new(), BTreeMap::new());
        let mut last = None; // rows of a key often follow each other
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
        self.named(name, about, names, of)
    }
    fn with(mut self, column: Column) -> Table {
        debug_assert!(self.columns.iter().all(|other| other.values.len() == column.values.len()));
        self.columns.push(column);
        self
    }
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

impl Values {
    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Values::Integer(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Text(values) => values.len(),
            Values::Named { of, .. } => of.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_name_is_made_once_a_key() {
        let made = Cell::new(0);
        let name = |key: u8| {
            made.set(made.get() + 1);
            format!("n{key}")
        };
        let table = Table::new("t", "").named_by("name", "", [7, 7, 3, 7, 3, 3], name);
        assert_eq!(made.get(), 2);
        let names = vec!["n7".to_string(), "n3".to_string()];
        assert_eq!(table.columns[0].values, Values::Named { names, of: vec![0, 0, 1, 0, 1, 1] });
    }
}
