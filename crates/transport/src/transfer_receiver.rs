//! The receiver of scheduled transfers over TCP: the peers of the connections of a `transfer_sender`.
//!
//! It records the delivery time of the last byte of each transfer. The segment with that byte marks the end of the
//! transfer, as an application would do in its data. Earlier segments may still be missing at that time.
//!
//! Source: as for `transfer_sender`; `tcp_receiver` for the behaviour of a connection.
//!
//! Not modelled: as for `transfer_sender`; an application that reads more slowly than data arrives.

use crate::endpoint::{Protocol, Received, Segment, TransportFacts, Undelivered};
use crate::members::Members;
use crate::serial::nearest;
use crate::tcp::TcpSpec;
use crate::tcp_receiver::TcpReceiver;
use crate::transfer_sender::labelled;
use frame::Header;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;
use workload::Due;

/// Maximum number of connections with posted messages.
const MOST_CONNECTIONS: usize = 1 << 20;

/// Receives transfers over TCP.
#[derive(Clone, Debug)]
pub struct TransferReceiver {
    spec: Arc<TcpSpec>,
    connections: Members<TcpReceiver>,
    /// By connection: the number after the last byte of a transfer whose last byte has arrived, and the number of the
    /// transfer.
    ending: Vec<Option<(u64, u32)>>,
    /// By transfer: the time at which it was completely delivered; [`Time::NEVER`] if it has not been.
    delivered: Box<[Time]>,
    due: Arc<[Due]>,
    /// Delivered transfers that others depend on.
    ended: VecDeque<u32>,
    discarded: u64,
    undelivered: Undelivered,
}

impl TransferReceiver {
    /// Creates a receiver of these transfers.
    pub fn new(spec: &Arc<TcpSpec>, due: Arc<[Due]>) -> TransferReceiver {
        TransferReceiver {
            spec: spec.clone(),
            connections: Members::new(),
            ending: Vec::new(),
            delivered: vec![Time::NEVER; due.len()].into(),
            due,
            ended: VecDeque::new(),
            discarded: 0,
            undelivered: Undelivered::default(),
        }
    }

    /// Returns the time at which the n-th transfer was completely delivered; `None` if it has not been.
    pub fn delivered(&self, nth: usize) -> Option<Time> {
        self.delivered.get(nth).copied().filter(|&at| at != Time::NEVER)
    }

    /// Returns true if an application posts the messages, which are then not known in advance.
    fn takes_posts(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns the connection with this number, creating it if necessary. There are at most as many connections as
    /// transfers.
    fn connection(&mut self, number: u32) -> Option<&mut TcpReceiver> {
        let most = if self.takes_posts() { MOST_CONNECTIONS } else { self.delivered.len() };
        if number as usize >= most {
            return None;
        }
        while self.connections.len() <= number as usize {
            self.connections.add(TcpReceiver::new(&self.spec));
            self.ending.push(None);
        }
        self.connections.get_mut(number)
    }
}

impl Protocol for TransferReceiver {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = received.header.as_ref().and_then(Header::tcp).copied().unwrap_or_default();
        let number = header.connection;
        let data = header.payload.unwrap_or_else(|| self.spec.data_in(received.bytes));
        let Some(receiver) = self.connection(number) else {
            self.discarded += 1;
            self.undelivered.add(received.bytes);
            return;
        };
        let before = receiver.delivered();
        let end = nearest(header.number, before) + u64::from(data);
        receiver.handle_frame(now, received);
        let so_far = receiver.delivered();
        let posts = self.takes_posts();
        let ending = &mut self.ending[number as usize];
        let is_new = |transfer: u32| match posts {
            // A posted message is new if its last byte has not been delivered.
            true => end > before,
            false => self.delivered.get(transfer as usize) == Some(&Time::NEVER),
        };
        if let Some(transfer) = header.ends.filter(|&transfer| is_new(transfer)) {
            *ending = Some((end, transfer));
        }
        if let Some((_, transfer)) = ending.take_if(|&mut (end, _)| end <= so_far) {
            if let Some(delivered) = self.delivered.get_mut(transfer as usize) {
                *delivered = now;
            }
            if self.due.get(transfer as usize).is_none_or(|due| due.awaited) {
                self.ended.push_back(transfer);
            }
        }
        self.connections.update(number);
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(number) = self.connections.due(now) {
            if let Some(receiver) = self.connections.get_mut(number) {
                receiver.handle_timeout(now);
            }
            self.connections.update(number);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.connections.next_look()).filter(|&at| at < Time::NEVER)
    }

    fn has_work(&self) -> bool {
        self.connections.have_work()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let number = self.connections.take_turn()?;
        let segment = self.connections.get_mut(number)?.poll_transmit(now);
        self.connections.end_turn(number);
        Some(labelled(segment?, number, None))
    }

    fn poll_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        self.connections.memory_bytes()
            + self.ending.capacity() * size_of::<Option<(u64, u32)>>()
            + self.delivered.len() * size_of::<Time>()
            + self.ended.capacity() * size_of::<u32>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded(),
            undelivered: self.undelivered(),
            ..TransportFacts::default()
        }
    }
}

impl TransferReceiver {
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded + self.connections.iter().map(TcpReceiver::discarded).sum::<u64>()
    }
    pub(crate) fn undelivered(&self) -> Undelivered {
        self.connections.iter().map(TcpReceiver::undelivered).fold(self.undelivered, Undelivered::and)
    }
}
