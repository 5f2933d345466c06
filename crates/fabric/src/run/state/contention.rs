//! Bytes sent by each class while several classes of a port could send: the bandwidth that its scheduler divides.
//!
//! A class can send if it has frames and is not stopped. The bytes of each class are counted by the set of classes that
//! could send, so that shares can be compared with weights, which divide a link only among classes that can send.

use frame::TrafficClass;
use recurrence::{Counts, Growth};

/// Bytes that a port with a weighted scheduler has sent while several classes could send. Most ports have many such
/// sets of classes; they are stored contiguously, since each frame looks one up.
#[derive(Clone, Debug)]
pub(crate) struct Contention {
    /// Number of classes of the port.
    classes: usize,
    /// Sets of classes that could send, as bit masks, in ascending order.
    sets: Vec<u32>,
    /// Bytes sent, by set and class.
    bytes: Vec<u64>,
    /// The set that was counted most recently.
    last: usize,
}

impl Contention {
    /// Creates the counts of a port with this many classes.
    pub fn new(classes: usize) -> Contention {
        Contention { classes, sets: Vec::new(), bytes: Vec::new(), last: 0 }
    }

    /// Counts bytes sent by a class while these classes, including itself, could send.
    #[inline]
    pub fn add(&mut self, could: u32, class: TrafficClass, bytes: u16) {
        if could.is_power_of_two() {
            return;
        }
        if self.sets.get(self.last) != Some(&could) {
            self.last = self.sets.partition_point(|&set| set < could);
            if self.sets.get(self.last) != Some(&could) {
                self.begin(could);
            }
        }
        self.bytes[self.last * self.classes + class.at()] += u64::from(bytes);
    }

    /// Adds a set that has not been counted before.
    #[cold]
    fn begin(&mut self, could: u32) {
        self.sets.insert(self.last, could);
        let at = self.last * self.classes;
        self.bytes.splice(at..at, std::iter::repeat_n(0, self.classes));
    }

    /// Returns the sets in ascending order, with each class of a set and its bytes.
    pub fn sent(&self) -> impl Iterator<Item = (u32, u8, u64)> {
        self.sets
            .iter()
            .zip(self.bytes.chunks(self.classes))
            .flat_map(|(&set, bytes)| members(set).map(move |class| (set, class, bytes[usize::from(class)])))
    }

    /// Restarts counting.
    pub fn clear(&mut self) {
        *self = Contention::new(self.classes);
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Contention>()
            + self.sets.capacity() * size_of::<u32>()
            + self.bytes.capacity() * size_of::<u64>()
    }
}

impl Counts for Contention {
    fn advance(&mut self, growth: &mut Growth) {
        let Some((before, periods)) = growth.kept(self) else { return };
        for (set, bytes) in self.sets.iter().zip(self.bytes.chunks_mut(self.classes)) {
            let at = before.sets.binary_search(set).map(|at| &before.bytes[at * self.classes..]);
            for (class, bytes) in bytes.iter_mut().enumerate() {
                *bytes += (*bytes - at.map_or(0, |earlier| earlier[class])) * periods;
            }
        }
    }
}

/// Returns the classes of a set in ascending order.
pub(crate) fn members(set: u32) -> impl Iterator<Item = u8> {
    (0..u32::BITS as u8).filter(move |class| set >> class & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_who_could_send() {
        let mut contention = Contention::new(32);
        let sends: [(u32, u8, u16); 6] = [
            (0b1001, 3, 100),
            (0b1000, 3, 7),
            (0b1001, 0, 50),
            (0b11, 1, 5),
            (0b1001, 3, 100),
            (1 << 31 | 1, 31, 9),
        ];
        for (could, class, bytes) in sends {
            contention.add(could, TrafficClass(class), bytes);
        }
        let sent: Vec<_> = contention.sent().collect();
        let expected = [
            (0b11, 0, 0),
            (0b11, 1, 5),
            (0b1001, 0, 50),
            (0b1001, 3, 200),
            (1 << 31 | 1, 0, 0),
            (1 << 31 | 1, 31, 9),
        ];
        assert_eq!(sent, expected);
        contention.clear();
        assert_eq!(contention.sent().count(), 0);
    }
}
