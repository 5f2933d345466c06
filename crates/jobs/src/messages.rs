//! Messages that start at given times: those of a list, or those that a session adds while the run lasts.

use units::Time;

/// One request to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// Sends a message.
    Send {
        /// Rank that receives it; may be the sender itself.
        to: u32,
        /// Its bytes; may be 0.
        bytes: u64,
    },
    /// Occupies the processor of the rank.
    Compute {
        /// For this long.
        time: Time,
    },
}

/// The requests of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageList {
    ranks: Vec<Requests>,
    /// Each rank has a connection to every other one, and not to those alone that it sends to.
    pub all_pairs: bool,
    /// A session adds requests while the run lasts, and closes the list.
    pub open: bool,
}

/// The requests of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Requests {
    /// In the order of adding: the place of a request is its label.
    all: Vec<(Time, Request)>,
    /// Labels in the order of time; those of one time in the order of adding.
    in_time: Vec<u32>,
    /// Messages that the rank receives.
    incoming: u32,
}

impl MessageList {
    /// No requests to `ranks` ranks.
    pub fn new(ranks: usize) -> MessageList {
        MessageList { ranks: vec![Requests::default(); ranks], ..MessageList::default() }
    }
    /// Adds requests: rank, time and request, in the order of their labels.
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
    /// Requests of a rank, in the order of adding.
    pub fn of(&self, rank: u32) -> impl Iterator<Item = (Time, Request)> + '_ {
        self.ranks[rank as usize].all.iter().copied()
    }
    /// Number of requests of a rank.
    pub(crate) fn count(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].all.len() as u32
    }
    /// Request number `nth` of a rank in the order of time, with its label.
    pub(crate) fn in_time(&self, rank: u32, nth: usize) -> Option<(u32, Time, Request)> {
        let own = &self.ranks[rank as usize];
        let &label = own.in_time.get(nth)?;
        let (at, request) = own.all[label as usize];
        Some((label, at, request))
    }
    /// Bytes of a message of a rank; `None`: it is not in the list.
    pub(crate) fn bytes(&self, rank: u32, label: u32) -> Option<u64> {
        match self.ranks.get(rank as usize)?.all.get(label as usize)?.1 {
            Request::Send { bytes, .. } => Some(bytes),
            Request::Compute { .. } => None,
        }
    }
    /// Messages that a rank receives.
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
