//! Crossbars: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It then
//! crosses. When it has crossed, it enters the queue of its egress port as in a switch without a crossbar, as if it began
//! its way there: its ingress counter was released when it began to cross. A cut-through switch passes it to the output when
//! it begins to cross, as its latency contains the path of the head; input and output are busy until all of it has arrived
//! and crossed.
//!
//! A match is due only when it may find a pair: a frame's input and output are free, or become free, or an output has room
//! again. Input and output hold the end of a crossing as a time; it is an event only where a frame waits for one of them, or
//! enters its queue then.
//!
//! Pauses that count ingress ports count a frame until it begins to cross. Pauses that count queues, targets among them, and limits
//! of the buffer count it from its arrival until it leaves the switch: an egress queue is what waits at inputs for it, crosses, and
//! waits at the output. Queue managers, outages and watchdogs act on a frame at its output.
//!
//! The room of an output counts crossing and waiting frames. A frame that the switch itself sends, or that goes to the link
//! at once, takes room as all others.
//!
//! A class with a bypass queue (`flow_control::channels`) has two *lanes*, an ordered and a bypass one, each with lists at
//! the inputs and room at the outputs of its own. A bypassable frame at the head of an ordered list moves to the bypass
//! list. The head of the bypass list crosses before that of the ordered list, as far as it has room; if it has none, it is
//! passed.

pub(crate) mod crossings;
pub(crate) mod held;
pub(crate) mod outputs;
