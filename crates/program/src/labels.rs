//! Labels of the operations of a rank in GOAL text.
//!
//! Schedule generators number their labels: `l1`, `l2`, and so on. Those are kept in an array by number: a text of 10^7
//! operations is read in about a third of the time that it takes with a map alone. Any others are in a map, so that no
//! choice of labels takes more than linear memory and n log n time.

use std::collections::BTreeMap;

/// Number of an operation and line of its label.
type Entry = (u32, u32);

/// No label has this number.
const NONE: Entry = (u32::MAX, 0);
/// Numbers up to this one, or twice the labels so far, have a place in the array.
const DENSE: usize = 1024;

/// Labels so far.
#[derive(Default)]
pub(crate) struct Labels<'a> {
    /// Letters before the number, those of the first numbered label.
    prefix: Option<&'a [u8]>,
    numbered: Vec<Entry>,
    others: BTreeMap<&'a [u8], Entry>,
    count: usize,
}

impl<'a> Labels<'a> {
    /// Adds a label unless it is there; returns the line of the one that is.
    pub(crate) fn insert(&mut self, label: &'a [u8], operation: u32, line: usize) -> Result<(), u32> {
        if let Some((_, before)) = self.entry(label) {
            return Err(before);
        }
        self.count += 1;
        let entry = (operation, u32::try_from(line).unwrap_or(u32::MAX));
        if let Some((prefix, number)) = split(label)
            && *self.prefix.get_or_insert(prefix) == prefix
            && number < DENSE.max(2 * self.count)
        {
            if self.numbered.len() <= number {
                self.numbered.resize(number + 1, NONE);
            }
            self.numbered[number] = entry;
        } else {
            self.others.insert(label, entry);
        }
        Ok(())
    }

    /// Operation of a label.
    pub(crate) fn get(&self, label: &[u8]) -> Option<u32> {
        self.entry(label).map(|entry| entry.0)
    }

    fn entry(&self, label: &[u8]) -> Option<Entry> {
        let numbered = split(label).filter(|found| self.prefix == Some(found.0));
        let found =
            numbered.and_then(|(_, number)| self.numbered.get(number)).filter(|&&entry| entry != NONE);
        // A number that was too high for the array when it came is in the map.
        found.or_else(|| self.others.get(label)).copied()
    }

    /// Label and line of an operation, for messages: a search.
    pub(crate) fn name(&self, operation: u32) -> Option<(String, u32)> {
        let other = self.others.iter().find(|(_, entry)| entry.0 == operation);
        if let Some((label, entry)) = other {
            return Some((crate::goal_lines::shown(label), entry.1));
        }
        let number = self.numbered.iter().position(|entry| entry.0 == operation && *entry != NONE)?;
        let prefix = crate::goal_lines::shown(self.prefix.unwrap_or_default());
        Some((format!("{prefix}{number}"), self.numbered[number].1))
    }
}

/// Letters and number of a label that is written without leading zeros, such as `l17`.
fn split(label: &[u8]) -> Option<(&[u8], usize)> {
    let digits = label.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (prefix, number) = label.split_at(label.len() - digits);
    if digits == 0 || digits > 9 || digits > 1 && number[0] == b'0' {
        return None;
    }
    Some((prefix, number.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_whichever_form_they_have() {
        let mut labels = Labels::default();
        let all = ["l1", "l01", "l1024", "l999999999", "m1", "l", "l1a", "a_7", "l9999999999", "l5000"];
        for (operation, label) in (0..).zip(all) {
            assert_eq!(
                labels.insert(label.as_bytes(), operation, operation as usize + 10),
                Ok(()),
                "{label}"
            );
        }
        for (operation, label) in (0..).zip(all) {
            assert_eq!(labels.get(label.as_bytes()), Some(operation), "{label}");
            assert_eq!(labels.name(operation), Some((label.into(), operation + 10)), "{label}");
            assert_eq!(labels.insert(label.as_bytes(), 99, 99), Err(operation + 10), "{label}");
        }
        assert!(["l2", "l1025", "k1", ""].iter().all(|label| labels.get(label.as_bytes()).is_none()));
        assert!(labels.numbered.len() <= DENSE);
    }

    #[test]
    fn a_number_that_was_too_high_is_found_when_the_array_has_grown_past_it() {
        let mut labels = Labels::default();
        labels.insert(b"l3000", 0, 1).expect("new");
        let names: Vec<String> = (1..2_500).map(|number| format!("l{number}")).collect();
        for (operation, name) in (1..).zip(&names) {
            labels.insert(name.as_bytes(), operation, 2).expect("new");
        }
        labels.insert(b"l3001", 9_000, 3).expect("new");
        assert_eq!(
            (labels.get(b"l3000"), labels.get(b"l2499"), labels.get(b"l3001")),
            (Some(0), Some(2_499), Some(9_000))
        );
        assert_eq!(labels.insert(b"l3000", 1, 4), Err(1));
    }
}
