//! Messages that are sent but never received, or expected but never sent.

use crate::{Rank, Work};

/// The side with more operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More sends than receives.
    Sends,
    /// More receives than sends: the receiver waits forever.
    Receives,
}

/// Messages with the same sender, receiver and tag whose sends and receives differ in number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Tag.
    pub tag: u32,
    /// The side with more operations.
    pub direction: Direction,
    /// Difference in number, at least 1.
    pub count: u64,
}

/// Finds all unmatched messages, by receiver, sender and tag.
pub(crate) fn find(ranks: &[Rank]) -> Vec<Unmatched> {
    let wild: Vec<bool> = ranks.iter().map(has_wildcard).collect();
    // Receiver, sender and tag, with +1 for a send and -1 for a receive.
    let mut messages: Vec<((u32, u32, u32), i64)> = Vec::new();
    for (own, rank) in (0..).zip(ranks) {
        messages.extend(rank.operations().iter().filter_map(|one| match one.work() {
            Work::Send { to, tag, .. } if !wild[to as usize] => Some(((to, own, tag), 1)),
            Work::Recv { from: Some(from), tag: Some(tag), .. } if !wild[own as usize] => {
                Some(((own, from, tag), -1))
            }
            _ => None,
        }));
    }
    messages.sort_unstable();
    let sums = messages.chunk_by(|one, other| one.0 == other.0).map(|group| {
        let (to, from, tag) = group[0].0;
        (from, to, tag, group.iter().map(|one| one.1).sum::<i64>())
    });
    sums.filter(|sum| sum.3 != 0)
        .map(|(from, to, tag, sum)| Unmatched {
            from,
            to,
            tag,
            direction: if sum > 0 { Direction::Sends } else { Direction::Receives },
            count: sum.unsigned_abs(),
        })
        .collect()
}

fn has_wildcard(rank: &Rank) -> bool {
    let wild = |work| matches!(work, Work::Recv { from: None, .. } | Work::Recv { tag: None, .. });
    rank.operations().iter().any(|one| wild(one.work()))
}
