//! Messages with given start times: those of a list, or those that a session adds during the run.

use units::Time;

/// A request to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// Sends a message.
    Send {
        /// Receiving rank; may be the sender itself.
        to: u32,
        /// Size in bytes; may be 0.
        bytes: u64,
    },
    /// Occupies the processor of the rank.
    Compute {
        /// Duration.
        time: Time,
    },
}

/// The requests of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageList {
    ranks: Vec<Requests>,
    /// True if each rank has connections to all others, and not only to those that it sends to.
    pub all_pairs: bool,
    /// True if a session adds requests during the run, and then closes the list.
    pub open: bool,
}

/// The requests of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Requests {
    /// Time and request, in the order in which they were added. The index of a request is its label.
    all: Vec<(Time, Request)>,
    /// Labels in order of time; for equal times, in the order in which they were added.
    in_time: Vec<u32>,
    /// Number of messages that the rank receives.
    incoming: u32,
}

impl MessageList {
    /// Creates an empty list for `ranks` ranks.
    pub fn new(ranks: usize) -> MessageList {
        MessageList { ranks: vec![Requests::default(); ranks], ..MessageList::default() }
    }
    /// Adds requests, given by rank, time and request. They get labels in this order.
    pub fn extend(&mut self, requests: impl IntoIterator<Item = (u32, Time, Request)>) {
        for (rank, at, request) in requests {
            self.ranks[rank as usize].all.push((at, request));
            if let Request::Send { to, .. } = request {
                self.ranks[to as usize].incoming += 1;
            }
        }
        for own in &mut self.ranks {
            own.in_time = (0..own.all.len() as u32).collect();
            own.in_time.sort_by_key(|&label| own.all[label as usize].0);
        }
    }
    /// Returns the requests of a rank, in the order in which they were added.
    pub fn of(&self, rank: u32) -> impl Iterator<Item = (Time, Request)> + '_ {
        self.ranks[rank as usize].all.iter().copied()
    }
    /// Returns the number of requests of a rank.
    pub(crate) fn count(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].all.len() as u32
    }
    /// Returns the `nth` request of a rank in order of time, with its label.
    pub(crate) fn in_time(&self, rank: u32, nth: usize) -> Option<(u32, Time, Request)> {
        let own = &self.ranks[rank as usize];
        let &label = own.in_time.get(nth)?;
        let (at, request) = own.all[label as usize];
        Some((label, at, request))
    }
    /// Returns the size of a message of a rank in bytes; `None` if it is not in the list.
    pub(crate) fn bytes(&self, rank: u32, label: u32) -> Option<u64> {
        match self.ranks.get(rank as usize)?.all.get(label as usize)?.1 {
            Request::Send { bytes, .. } => Some(bytes),
            Request::Compute { .. } => None,
        }
    }
    /// Returns the number of messages that a rank receives.
    pub(crate) fn incoming(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].incoming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_start_in_the_order_of_time_and_keep_the_label_of_their_place() {
        let mut list = MessageList::new(2);
        let send = |bytes| Request::Send { to: 1, bytes };
        list.extend([(5, 1), (3, 2), (5, 3), (3, 4)].map(|(at, bytes)| (0, Time::from_ns(at), send(bytes))));
        let in_time: Vec<_> =
            (0..4).filter_map(|nth| list.in_time(0, nth)).map(|own| (own.0, own.2)).collect();
        assert_eq!(in_time, [(1, send(2)), (3, send(4)), (0, send(1)), (2, send(3))]);
        assert_eq!(
            (list.incoming(0), list.incoming(1), list.bytes(0, 3), list.bytes(0, 4)),
            (0, 4, Some(4), None)
        );
    }
}
