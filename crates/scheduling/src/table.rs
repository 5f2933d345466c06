//! Common parts of the two arbitration tables: the list of entries, and a constant-time search for the next entry whose
//! queue is active.

use crate::ready::ReadySet;
use keys::Remark;

/// A cyclic list of queues.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Vec<u32>,
    /// Entries whose queue is active.
    active: ReadySet,
    /// By queue: its entries, as word indices and bit masks in `active`.
    places: Vec<Vec<(u32, u64)>>,
    is_active: Vec<bool>,
}

impl Table {
    pub fn new(entries: Vec<u32>, queues: u32) -> Table {
        let mut places: Vec<Vec<(u32, u64)>> = vec![Vec::new(); queues as usize];
        for (entry, &queue) in (0u32..).zip(&entries) {
            let words = &mut places[queue as usize];
            let bit = 1 << (entry % 64);
            match words.last_mut() {
                Some((word, mask)) if *word == entry / 64 => *mask |= bit,
                _ => words.push((entry / 64, bit)),
            }
        }
        let active = ReadySet::new(entries.len() as u32);
        Table { entries, active, places, is_active: vec![false; queues as usize] }
    }
    pub fn queue(&self, entry: u32) -> u32 {
        self.entries[entry as usize]
    }
    #[inline]
    pub fn after(&self, entry: u32) -> u32 {
        if entry as usize + 1 == self.entries.len() { 0 } else { entry + 1 }
    }
    #[inline]
    pub fn is_active(&self, queue: u32) -> bool {
        self.is_active[queue as usize]
    }
    #[inline]
    pub fn activate(&mut self, queue: u32) {
        if !std::mem::replace(&mut self.is_active[queue as usize], true) {
            for &(word, mask) in &self.places[queue as usize] {
                self.active.insert_word(word as usize, mask);
            }
        }
    }
    #[inline]
    pub fn deactivate(&mut self, queue: u32) {
        if std::mem::replace(&mut self.is_active[queue as usize], false) {
            for &(word, mask) in &self.places[queue as usize] {
                self.active.remove_word(word as usize, mask);
            }
        }
    }
    /// Returns the first entry at or after `from` whose queue is active.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        self.active.next_from(from)
    }
}

/// Numbers of entries that Advanced Switching allows.
const SIZES: [usize; 6] = [32, 64, 128, 256, 512, 1024];
/// Largest queue number: an entry has eight bits.
const LARGEST_CHANNEL: u32 = u8::MAX as u32;

/// The key for the entries, common to both tables.
pub(crate) const KEY: &str = "entries";

/// Checks that a list of queues is an arbitration table.
pub(crate) fn check(entries: impl ExactSizeIterator<Item = u32> + Clone, queues: u32) -> Result<(), Remark> {
    if !SIZES.contains(&entries.len()) {
        let message = format!("the table has {} entries", entries.len());
        return Err(Remark::about(KEY, message, "accepted are 32, 64, 128, 256, 512 and 1024"));
    }
    let last = (queues - 1).min(LARGEST_CHANNEL);
    if let Some((entry, queue)) = entries.clone().enumerate().find(|&(_, queue)| queue > last) {
        let help = if queue < queues {
            "an entry has eight bits, 0 to 255".to_string()
        } else {
            format!("the port has queues 0 to {}", queues - 1)
        };
        let message = format!("entry {entry} of the table names queue {queue}");
        return Err(Remark::about(KEY, message, help).entry(entry));
    }
    match (0..queues).find(|&queue| !entries.clone().any(|entry| entry == queue)) {
        Some(queue) => {
            let message = format!("no entry of the table names queue {queue}: it would never send");
            Err(Remark::about(KEY, message, "expected every queue at least once"))
        }
        None => Ok(()),
    }
}

/// Returns the latency of a table: the maximum delay of the queue's own service, relative to service at the `certain`
/// rate on a link of rate `link`. The maximum is taken at the beginning of each of the queue's own entries, over all
/// starting points in the table. `others` returns the bytes that an entry of another queue can take, and `fixed` is
/// added to them once. `own` returns the guaranteed bytes of an own entry, and `owed` is subtracted from them once.
/// Amounts are in bytes, rates in bytes per second.
pub(crate) fn latency(
    entries: &[u32],
    queue: u32,
    others: impl Fn(usize) -> f64,
    own: impl Fn(usize) -> f64,
    (fixed, owed): (f64, f64),
    (certain, link): (f64, f64),
) -> f64 {
    let mut worst = 0.0f64;
    for start in 0..entries.len() {
        let (mut foreign, mut sent) = (fixed, -owed);
        for entry in (start..entries.len()).chain(0..start) {
            if entries[entry] == queue {
                let sent_at_least = sent.max(0.0);
                worst = worst.max((foreign + sent_at_least) / link - sent_at_least / certain);
                sent += own(entry);
            } else {
                foreign += others(entry);
            }
        }
        // The queue's first own entry in the next cycle.
        let sent_at_least = sent.max(0.0);
        worst = worst.max((foreign + sent_at_least) / link - sent_at_least / certain);
    }
    worst
}
