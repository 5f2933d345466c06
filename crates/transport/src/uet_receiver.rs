//! Receiver of Ultra Ethernet Transport between two hosts: places packets and acknowledges them.
//!
//! A packet is placed when it arrives, in any order. A message is delivered when all its packets have arrived, even if
//! earlier messages are incomplete. An acknowledgement (ACK_CC) is sent after each `ack_every` bytes. It is sent
//! immediately for the first packet, a packet with an ECN mark, a packet that requests it, a duplicate, a packet that
//! fills the last gap after a request, and the last outstanding packet among those that a probe has overtaken. It
//! carries the cumulative PSN, a bitmap of 64 packets starting at max(PSN - 63, cumulative PSN + 1), the bytes
//! received, the packets held out of order, and the mark of the packet that it acknowledges. A packet trimmed by a
//! switch is answered with a NACK, and is not placed.
//!
//! Each PDC between the two hosts has its own sequence numbers, acknowledgements and grants. PDCs with something to
//! send are served in round-robin order.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.5 (packet delivery sublayer), and uet-htsim 40ccb05, `uec.cpp`
//! (rules of acknowledgements).
//!
//! Not modelled: congestion control state set by the receiver (`rcv_cwnd_pend`, `restore_cwnd`); NACKs for exhausted
//! resources other than a sequence number outside the window.

use crate::endpoint::{HostEvent, Protocol, Received, Segment, TransportFacts};
use crate::rdma::RdmaWord;
use crate::uet::{PullPacer, ReceivingContext, UetFacts, UetSpec, label};
use crate::uet_sender::header_of;
use std::ops::Range;
use std::sync::Arc;
use units::Time;

/// Receives messages over Ultra Ethernet Transport.
#[derive(Clone, Debug)]
pub struct UetReceiver {
    context: ReceivingContext,
    /// Contexts from the second one on.
    others: Box<[ReceivingContext]>,
    /// True if each context is a path.
    labels_paths: bool,
    /// Context whose turn to send is next.
    turn: usize,
    discarded: u64,
}

impl UetReceiver {
    /// Creates a receiver of this number of transfers, or of a flow. `facts` are those of the path, with the rate of
    /// the receiver's link.
    pub fn new(spec: &Arc<UetSpec>, transfers: usize, facts: &UetFacts) -> UetReceiver {
        let context = || ReceivingContext::new(spec, transfers, facts);
        UetReceiver {
            context: context(),
            others: (1..spec.contexts).map(|_| context()).collect(),
            labels_paths: spec.contexts_are_paths(),
            turn: 0,
            discarded: 0,
        }
    }

    /// Iterates over the contexts, in order of their numbers.
    pub fn contexts(&self) -> impl Iterator<Item = &ReceivingContext> {
        std::iter::once(&self.context).chain(&*self.others)
    }
    /// Returns the context with this number; `None` if there are fewer contexts.
    pub fn context(&self, number: usize) -> Option<&ReceivingContext> {
        self.contexts().nth(number)
    }
    fn context_mut(&mut self, number: usize) -> Option<&mut ReceivingContext> {
        match number.checked_sub(1) {
            None => Some(&mut self.context),
            Some(place) => self.others.get_mut(place),
        }
    }
    fn all_mut(&mut self) -> impl Iterator<Item = &mut ReceivingContext> {
        std::iter::once(&mut self.context).chain(&mut self.others)
    }
    /// Returns the context that sends next; `None` if none has anything to send.
    fn ready(&self) -> Option<usize> {
        if self.others.is_empty() {
            return self.context.has_work().then_some(0);
        }
        let has_work = |number: &usize| self.context(*number).is_some_and(Protocol::has_work);
        (self.turn..=self.others.len()).chain(0..self.turn).find(has_work)
    }

    /// Shares the grant pacer with the other receivers of the host.
    pub fn attach(&mut self, pacer: &PullPacer) {
        self.all_mut().for_each(|context| context.attach(pacer));
    }
    /// Returns true if the receiver grants credit.
    pub fn grants(&self) -> bool {
        self.context.grants()
    }
    /// Returns the time at which a context's message that ends with this packet was delivered; `None` if it has not
    /// been.
    pub fn delivered(&self, context: usize, last: u64) -> Option<Time> {
        self.context(context)?.delivered(last)
    }
    /// Returns the number of packets of a range of a context that have arrived.
    pub(crate) fn arrived(&self, context: usize, range: Range<u64>) -> u64 {
        self.context(context).map_or(0, |context| context.arrived(range))
    }
    /// Returns the number of messages that have been delivered together with all messages before them. Messages use the
    /// contexts in turn.
    pub(crate) fn delivered_in_order(&self) -> u64 {
        let contexts = 1 + self.others.len() as u64;
        // The first missing message of any context limits the number.
        let missing =
            (0..).zip(self.contexts()).map(|(number, context)| context.counts.in_order * contexts + number);
        missing.min().unwrap_or(0)
    }
    /// Starts at this PSN.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, psn: u64) {
        self.all_mut().for_each(|context| context.start_at(psn));
    }
}

impl Protocol for UetReceiver {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let number = RdmaWord::of(header_of(received).word).pair as usize;
        match self.context_mut(number) {
            Some(context) => context.handle_frame(now, received),
            None => self.discarded += 1,
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.all_mut().for_each(|context| context.handle_timeout(now));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.contexts().filter_map(Protocol::poll_timeout).min()
    }

    fn accepts_trimmed(&self) -> bool {
        self.context.accepts_trimmed()
    }

    fn has_work(&self) -> bool {
        self.ready().is_some()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let number = self.ready()?;
        self.turn = if number == self.others.len() { 0 } else { number + 1 };
        let segment = self.context_mut(number)?.poll_transmit(now)?;
        Some(label(segment, number, self.labels_paths))
    }

    fn next_entropy(&mut self) -> u16 {
        let Some(number) = self.ready() else { return 0 };
        if self.labels_paths {
            return number as u16;
        }
        self.context_mut(number).map_or(0, Protocol::next_entropy)
    }

    fn has_records(&self) -> bool {
        false
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        // All contexts have to process the event.
        self.all_mut().map(|context| context.on_event(now, event)).filter(|&changed| changed).count() > 0
    }
    fn poll_ended(&mut self) -> Option<u32> {
        self.all_mut().find_map(Protocol::poll_ended)
    }
    fn memory_bytes(&self) -> usize {
        // The first context is part of the value itself.
        let own = size_of::<UetReceiver>() - size_of::<ReceivingContext>();
        own + self.contexts().map(Protocol::memory_bytes).sum::<usize>()
    }
    fn facts(&self, now: Time) -> TransportFacts {
        let start = TransportFacts { discarded: self.discarded, ..TransportFacts::default() };
        self.contexts().map(|context| context.facts(now)).fold(start, |sum, own| TransportFacts {
            discarded: sum.discarded + own.discarded,
            undelivered: sum.undelivered.and(own.undelivered),
            ..sum
        })
    }
}
