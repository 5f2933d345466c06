//! Times, by activity, of the messages that an application posts over TCP.
//!
//! A message has its connection to itself, so the time of the connection is that of its message. As for a queue pair,
//! time is charged to packets on the link, to retransmissions and timeouts, to the cause that holds the next segment
//! back, or to data in flight. There are two differences, the first because a cumulative acknowledgement covers the
//! data after a hole only when the hole is filled:
//! - From the detection of a loss until everything sent before it is acknowledged, time without a new segment to send
//!   is charged to the retransmission.
//! - A handshake is charged to the window.

use crate::tcp_sender::TcpSender;
use crate::time_spent::{MessageClock, MessageTimes, SpentClock};
use units::{BitRate, Time};

/// The clocks of a connection and of the message that it carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionClock {
    own: SpentClock,
    /// Clock of the message, and the time at which it was posted; `None` if there is no message.
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

    /// Charges a data segment of `bytes` that has just been sent. `is_last` is true if its last byte is that of the
    /// message.
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

    /// Stops the clock of the message, which has been acknowledged, and returns its times.
    pub fn end(&mut self, sender: &TcpSender, now: Time) -> Option<MessageTimes> {
        let (clock, start) = self.message.take()?;
        let times = clock.end(&self.own, feedback(sender), start, now);
        self.own.change(None, now);
        Some(times)
    }

    /// Charges a pause that has stopped the NIC for the time `stopped` up to `now`.
    pub fn on_stopped(&mut self, stopped: Time, now: Time) {
        self.own.on_stopped(stopped, now);
    }

    /// Sets the rate of the link from now on.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        self.own.on_link_rate(rate);
    }
}

/// Returns the numbers of CNPs, marks and NAKs that a connection has received. It receives only marks.
fn feedback(sender: &TcpSender) -> [u32; 3] {
    [0, sender.marks as u32, 0]
}
