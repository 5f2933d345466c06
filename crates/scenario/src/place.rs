//! Positions of values in the text: paths of keys and indices, looked up in the parsed document.
//!
//! The typed model carries no positions. A check names the value by its path, and the path is looked up only
//! for a message. A missing key is reported at the nearest table around it.

use keys::Step;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Path from the root of a scenario to a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(Vec<Step>);

/// Keys or indices in a table to which a pattern in the text was expanded.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The table or list.
    pub table: Place,
    /// Pairs of an expanded step and the pattern that it came from.
    pub steps: Vec<(Step, Step)>,
}

impl Place {
    /// Returns the place of this value in the text.
    pub fn written(&self, aliases: &[Alias]) -> Place {
        let mut steps = self.0.clone();
        for Alias { table, steps: known } in aliases {
            if let Some(step) = steps.get_mut(table.0.len()).filter(|_| self.0.starts_with(&table.0))
                && let Some((_, written)) = known.iter().find(|(made, _)| made == step)
            {
                *step = written.clone();
            }
        }
        Place(steps)
    }

    /// Returns the names to which the pattern at this place expands, including this one.
    pub fn written_for<'a>(&self, aliases: &'a [Alias]) -> impl Iterator<Item = &'a str> {
        let with_same = |alias: &'a Alias| {
            let own = self.0.get(alias.table.0.len()).filter(|_| self.0.starts_with(&alias.table.0))?;
            let pattern = alias.steps.iter().find(|(made, _)| made == own).map(|(_, pattern)| pattern)?;
            Some(alias.steps.iter().filter(move |(_, other)| other == pattern).map(|(made, _)| made))
        };
        aliases.iter().filter_map(with_same).flatten().filter_map(|step| match step {
            Step::Key(name) => Some(name.as_str()),
            Step::Index(_) => None,
        })
    }

    /// Creates the place of `key` at the root.
    pub fn of(key: &str) -> Place {
        Place::default().key(key)
    }
    /// Returns the place of `key` in this table.
    pub fn key(&self, key: &str) -> Place {
        self.then(Step::Key(key.to_string()))
    }
    /// Returns the place at the end of these steps, starting here.
    pub fn along(&self, steps: &[Step]) -> Place {
        Place(self.0.iter().chain(steps).cloned().collect())
    }
    /// Returns the place of an element of this array.
    pub fn index(&self, index: usize) -> Place {
        self.then(Step::Index(index))
    }
    fn then(&self, step: Step) -> Place {
        let mut steps = self.0.clone();
        steps.push(step);
        Place(steps)
    }

    /// Returns true if the text contains this value.
    pub fn is_written(&self, document: &DeTable<'_>) -> bool {
        self.find(document).1
    }
    /// Returns the byte range of the value or, if it is missing, of the nearest table around it.
    pub fn span(&self, document: &DeTable<'_>) -> Range<usize> {
        self.find(document).0
    }

    /// Returns the byte range of the value or of the nearest table around it, and true if it is that of the value.
    fn find(&self, document: &DeTable<'_>) -> (Range<usize>, bool) {
        let mut found = 0..0;
        let mut table = Some(document);
        let mut array = None;
        for step in &self.0 {
            let (span, value) = match step {
                Step::Key(key) => {
                    let Some((name, value)) = table.and_then(|table| entry(table, key)) else {
                        return (found, false);
                    };
                    // A table is underlined at its name, any other value at itself.
                    let is_table = matches!(value.get_ref(), DeValue::Table(_));
                    (if is_table { name } else { value.span() }, value.get_ref())
                }
                Step::Index(index) => {
                    let Some(value) = array.and_then(|array: &toml::de::DeArray<'_>| array.get(*index))
                    else {
                        return (found, false);
                    };
                    (value.span(), value.get_ref())
                }
            };
            found = span;
            (table, array) = (value.as_table(), value.as_array());
        }
        (found, true)
    }
}

fn entry<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<(Range<usize>, &'t Spanned<DeValue<'i>>)> {
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| (name.span(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_what_is_missing() {
        let text = "[simulation]\nduration = \"1 s\"\n[[flows]]\nto = [\"a\", \"b\"]\nsource = { constant = { rate = 1 } }\n";
        let document = DeTable::parse(text).unwrap();
        let at = |place: Place| &text[place.span(document.get_ref())];
        assert_eq!(at(Place::of("simulation").key("duration")), "\"1 s\"");
        assert_eq!(at(Place::of("simulation").key("seed")), "simulation");
        let flow = Place::of("flows").index(0);
        assert_eq!(at(flow.clone()), "[[flows]]");
        assert_eq!(at(flow.key("to").index(1)), "\"b\"");
        assert_eq!(at(flow.key("source").key("constant").key("rate")), "1");
        assert_eq!(at(flow.key("name")), "[[flows]]");
        assert_eq!(at(Place::of("absent")), "");
        let written = |place: Place| place.is_written(document.get_ref());
        assert!(written(Place::of("simulation").key("duration")) && written(flow.key("to").index(1)));
        assert!(!written(Place::of("simulation").key("seed")) && !written(flow.key("to").index(2)));
    }
}
