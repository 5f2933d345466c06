//! Labels of the operations of a rank in GOAL text.
//!
//! Schedule generators number their labels: `l1`, `l2`, and so on. These labels are stored in an array, by number:
//! reading a text of 10^7 operations takes about a third of the time that it takes with a map alone. All others are
//! stored in a map, so that any choice of labels takes at most linear memory and n log n time.

use std::collections::BTreeMap;

/// Number of an operation, and line of its label.
type Entry = (u32, u32);

/// Marks a number that no label has.
const NONE: Entry = (u32::MAX, 0);
/// Numbers up to this one, or up to twice the number of labels so far, are stored in the array.
const DENSE: usize = 1024;

/// Labels that have been defined so far.
#[derive(Default)]
pub(crate) struct Labels<'a> {
    /// Prefix of the numbered labels: that of the first one.
    prefix: Option<&'a [u8]>,
    numbered: Vec<Entry>,
    others: BTreeMap<&'a [u8], Entry>,
    count: usize,
}

impl<'a> Labels<'a> {
    /// Adds a label, unless it is defined already; the error is the line of the earlier definition.
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

    /// Returns the operation with a label.
    pub(crate) fn get(&self, label: &[u8]) -> Option<u32> {
        self.entry(label).map(|entry| entry.0)
    }

    fn entry(&self, label: &[u8]) -> Option<Entry> {
        let numbered = split(label).filter(|found| self.prefix == Some(found.0));
        let found =
            numbered.and_then(|(_, number)| self.numbered.get(number)).filter(|&&entry| entry != NONE);
        // A label whose number was too high for the array when it was added is in the map.
        found.or_else(|| self.others.get(label)).copied()
    }

    /// Returns label and line of an operation, for messages. Searches all labels.
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

/// Splits a label without leading zeros, such as `l17`, into prefix and number.
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
