//! Who sent how much while several classes of a port could: what its scheduler divides.
//!
//! A class could send if it had frames and was not stopped. Counted are the bytes of each class by the set of classes that
//! could, so that shares can be held against weights: those divide a link only among classes that have something to send.

use frame::TrafficClass;

/// What a port with a scheduler that divides has sent while several classes could.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// In the order of their bits.
    sets: Vec<Set>,
    /// The one that was counted last.
    last: usize,
}

/// Classes that could send, as bits, and what each of them sent.
#[derive(Debug)]
struct Set {
    classes: u32,
    /// By class.
    bytes: [u64; u32::BITS as usize],
}

impl Contention {
    /// A class sends so many bytes, while these classes could, itself among them.
    pub fn add(&mut self, could: u32, class: TrafficClass, bytes: u16) {
        if could.is_power_of_two() {
            return;
        }
        if self.sets.get(self.last).is_none_or(|set| set.classes != could) {
            self.last = self.sets.binary_search_by_key(&could, |set| set.classes).unwrap_or_else(|at| {
                self.sets.insert(at, Set { classes: could, bytes: [0; u32::BITS as usize] });
                at
            });
        }
        self.sets[self.last].bytes[class.at()] += u64::from(bytes);
    }

    /// Sets in the order of their bits, each class of a set, and its bytes.
    pub fn sent(&self) -> impl Iterator<Item = (u32, u8, u64)> {
        let of_set = |set: &'_ Set| {
            let (classes, bytes) = (set.classes, set.bytes);
            members(classes).map(move |class| (classes, class, bytes[usize::from(class)]))
        };
        self.sets.iter().flat_map(of_set)
    }

    /// Begins to count anew.
    pub fn clear(&mut self) {
        *self = Contention::default();
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Contention>() + self.sets.capacity() * size_of::<Set>()
    }
}

/// The classes of a set, from the lowest on.
pub(crate) fn members(set: u32) -> impl Iterator<Item = u8> {
    (0..u32::BITS as u8).filter(move |class| set >> class & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_who_could_send() {
        let mut contention = Contention::default();
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
