//! Crossbars at work: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It
//! then crosses; when it has crossed it comes to the queue of its egress port as in a switch without a crossbar, as if it
//! began its way there: what counts where frames came in from has let go of it when it began to cross. A cut-through
//! switch hands it over when it begins to cross, as its latency contains the way of the head; input and output are busy
//! until all of it has come and crossed.
//!
//! A match is due only when it may find a pair: a frame's input and output are free, or become free, or an output has room
//! again. Input and output hold the end of a crossing as a time; it is an event only where a frame waits for one of them, or
//! is handed over then.
//!
//! Pauses count a frame where it came in until it begins to cross; queue managers, outages and watchdogs meet it at its output.
//!
//! The room of an output counts what crosses and what waits there. A frame that the switch itself sends, or that goes to
//! the link at once, takes room as all others.
//!
//! A class with a bypass queue (`flow_control::channels`) has two *lanes*, an ordered and a bypass one, each with lists at the
//! inputs and room at the outputs of its own. A bypassable frame that gets to the head of an ordered list moves to the bypass
//! list. What is first there crosses before what is first in the ordered list, as far as it has room; if it has none, it is
//! passed.

pub(crate) mod crossings;
pub(crate) mod held;
pub(crate) mod outputs;
