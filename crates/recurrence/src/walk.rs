//! A walk over a state, and its digest.

use crate::{MaybeEmpty, Recurs};
use std::fmt::{Debug, Write};
use units::Time;

/// A digest of a state, 128 bits.
pub type Digest = u128;

/// A walk over a state at a given time.
#[derive(Clone, Debug)]
pub struct Walk {
    now: Time,
    /// The phase of a program that labels and positions are relative to.
    phase: u32,
    lanes: [u64; 2],
    words: u64,
    cost: u64,
    unknown: Option<&'static str>,
    field: &'static str,
    /// Each word with its field, if differences are to be reported by field.
    trace: Option<Vec<(&'static str, u64)>>,
}

/// Cost of formatting a word, in visits of numbers, in addition to its own visit.
const SHOWN: u64 = 7;

const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// Returns the product of two words, folded to one word.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Walk {
    /// Creates a walk over a state at this time.
    pub fn new(now: Time) -> Walk {
        let lanes = [0x2545_f491_4f6c_dd1d, 0x5851_f42d_4c95_7f2d];
        Walk { now, phase: 0, lanes, words: 0, cost: 0, unknown: None, field: "", trace: None }
    }

    /// Creates a walk in which labels and positions of programs are relative to this phase.
    pub fn from_phase(now: Time, phase: u32) -> Walk {
        Walk { phase, ..Walk::new(now) }
    }

    /// Creates a walk that records each word with the name of its field.
    pub fn traced(now: Time) -> Walk {
        Walk { trace: Some(Vec::new()), ..Walk::new(now) }
    }

    /// Visits a number.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.words += 1;
        let [a, b] = &mut self.lanes;
        *a = fold(*a ^ word, MULTIPLIERS[0]).wrapping_add(self.words);
        *b = fold(b.rotate_left(29) ^ word, MULTIPLIERS[1]).wrapping_add(*a);
        if let Some(trace) = &mut self.trace {
            trace.push((self.field, word));
        }
    }

    /// Visits a time relative to the time of the walk. [`Time::NEVER`] stands for itself.
    #[inline]
    pub fn instant(&mut self, at: Time) {
        self.word(if at == Time::NEVER { u64::MAX } else { at.ps().wrapping_sub(self.now.ps()) });
    }

    /// Visits a time that matters only while it is in the future: 0 if it is in the past, otherwise the time until then
    /// plus 1.
    #[inline]
    pub fn past(&mut self, at: Time) {
        self.word(match at.ps().checked_sub(self.now.ps()) {
            _ if at == Time::NEVER => u64::MAX,
            Some(left) => left + 1,
            None => 0,
        });
    }

    /// Visits a label relative to the phase.
    pub fn label(&mut self, label: impl Into<Option<u32>>) {
        self.word(label.into().map_or(u64::MAX, |label| label.wrapping_sub(self.phase).into()));
    }

    /// Visits a value by its derived [`Debug`] form. For enums of small state machines without times.
    pub fn shown(&mut self, value: &impl Debug) {
        struct Words<'a>(&'a mut Walk);
        impl Write for Words<'_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                for bytes in text.as_bytes().chunks(8) {
                    let mut word = [0; 8];
                    word[..bytes.len()].copy_from_slice(bytes);
                    self.0.word(u64::from_le_bytes(word));
                }
                Ok(())
            }
        }
        // Writing into a digest cannot fail.
        let before = self.words;
        let _ = write!(Words(self), "{value:?}");
        self.cost += (self.words - before) * SHOWN;
    }

    /// Marks the state as unknown, because a part of it has no class. It then equals no other state.
    pub fn unknown(&mut self, reason: &'static str) {
        self.unknown.get_or_insert(reason);
    }

    /// Visits a part without a class. The state is unknown unless the part is empty.
    pub fn unless_empty(&mut self, part: &impl MaybeEmpty, reason: &'static str) {
        if !part.holds_nothing() {
            self.unknown(reason);
        }
    }

    /// Sets the name of the field that is visited next.
    #[inline]
    pub fn field(&mut self, name: &'static str) {
        self.field = name;
    }

    /// Visits all elements of a list, and their number.
    pub fn list<'a, T: Recurs + 'a>(&mut self, parts: impl ExactSizeIterator<Item = &'a T>) {
        self.word(parts.len() as u64);
        parts.for_each(|part| part.walk(self));
    }

    /// Returns the phase that labels and positions are relative to.
    pub fn phase(&self) -> u32 {
        self.phase
    }

    /// Returns the time of the state.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the cost of the walk, in visits of numbers.
    pub fn cost(&self) -> u64 {
        self.words + self.cost
    }

    /// Returns the reason why the state is unknown; `None` if it is known.
    pub fn reason(&self) -> Option<&'static str> {
        self.unknown
    }

    /// Returns the digest of the fields visited so far.
    pub fn digest(&self) -> Digest {
        let [a, b] = self.lanes;
        u128::from(fold(a, MULTIPLIERS[1] ^ b)) << 64 | u128::from(fold(b, MULTIPLIERS[0] ^ self.words))
    }

    /// Returns the visited words, each with its field.
    pub fn into_trace(self) -> Vec<(&'static str, u64)> {
        self.trace.unwrap_or_default()
    }
}
