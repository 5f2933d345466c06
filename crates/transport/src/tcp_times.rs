//! Time of the messages that an application posts over TCP, by activity.
//!
//! A message has its connection to itself, so that the time of the connection is that of its message. As of a queue pair it is charged to the
//! packets on the link, to retransmissions and timeouts, to what holds the next segment back, or to data in flight; with two differences, as a
//! cumulative acknowledgement covers what follows a hole only once the hole is filled. From the detection of a loss until everything sent
//! before it is acknowledged, time without a new segment to send is that of the retransmission. A handshake counts as the window.

use crate::tcp_sender::TcpSender;
use crate::time_spent::{MessageClock, MessageTimes, SpentClock};
use units::{BitRate, Time};

/// Clock of a connection and of the message that it carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionClock {
    own: SpentClock,
    /// The message, and when it was posted; `None`: there is none.
    message: Option<(MessageClock, Time)>,
    /// Retransmitted segments and timeouts that have been charged.
    retransmitted: u64,
    timeouts: u32,
}

impl ConnectionClock {
    /// Creates a clock for a link of this rate, with `overhead` bytes around each frame.
    pub fn new(rate: BitRate, overhead: u16) -> ConnectionClock {
        ConnectionClock { own: SpentClock::new(rate, overhead), message: None, retransmitted: 0, timeouts: 0 }
    }

    /// Starts the clock of a message that has just been posted.
    pub fn begin(&mut self, sender: &TcpSender, now: Time) {
        let mut clock = MessageClock::default();
        clock.begin(&self.own, feedback(sender), now);
        self.message = Some((clock, now));
        self.observe(sender, now);
    }

    /// Charges a segment of data of `bytes` that has just left; `is_last`: its last byte is that of the message.
    pub fn on_send(&mut self, sender: &TcpSender, (bytes, is_last): (u16, bool), now: Time) {
        let again = sender.retransmitted() != self.retransmitted;
        self.retransmitted = sender.retransmitted();
        self.own.on_send(bytes, again, now);
        if let Some((clock, _)) = self.message.as_mut().filter(|_| is_last) {
            clock.leave(&self.own, now);
        }
    }

    /// Sets the activity after an event at the connection.
    pub fn observe(&mut self, sender: &TcpSender, now: Time) {
        if self.message.is_none() {
            return;
        }
        if sender.timeouts() != self.timeouts {
            self.timeouts = sender.timeouts();
            self.own.correct_all_waits();
        }
        self.own.change(Some(sender.activity()), now);
    }

    /// Ends the clock of the message, which is acknowledged; returns its times.
    pub fn end(&mut self, sender: &TcpSender, now: Time) -> Option<MessageTimes> {
        let (clock, start) = self.message.take()?;
        let times = clock.end(&self.own, feedback(sender), start, now);
        self.own.change(None, now);
        Some(times)
    }

    /// Charges a pause that stopped the NIC for `stopped` until now.
    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        self.own.on_stopped(stopped, now);
    }

    /// Sets the link rate from now on.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.own.on_link_rate(rate);
    }
}

/// CNPs, marks and NAKs that a connection has received: it has marks alone.
fn feedback(sender: &TcpSender) -> [u32; 3] {
    [0, sender.marks as u32, 0]
}
