//! Transports, which carry the messages of an application between two hosts in both directions.
//!
//! A transport consists of a description that both ends share ([`TransportSpec`]) and a state machine at each end
//! ([`DuplexEnd`]). It accepts messages of any number of bytes and returns the peer's delivered messages; order,
//! reliability, window and pacing are internal to the transport. The list of all transports is in `lib.rs`.

use crate::application::Random;
use crate::endpoint::{HostEvent, Received, Record, Segment, TransportFacts};
use crate::load::Train;
use crate::rdma::{Operation, PathFacts, Post};
use crate::{PullPacer, RdmaReceiver, RdmaSender, UetReceiver, UetSender};
use keys::Remark;
use units::Time;

/// The unit in which a transport counts deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a stream, in segments with at most this many bytes of data.
    Bytes(u16),
    /// Messages, each of which is sent by this operation.
    Messages {
        /// Operation that carries an application's message.
        operation: Operation,
        /// True if RDMA WRITE and READ are available as well.
        one_sided: bool,
    },
}

/// A validated transport.
pub trait TransportSpec {
    /// The state machine at each end.
    type End: DuplexEnd;

    /// Returns the unit in which its ends count deliveries.
    fn unit(&self) -> Unit;
    /// Returns the length of the shortest and of the longest frame of either end, DA to FCS.
    fn frames(&self) -> (u16, u16);
    /// Returns the lengths of a full frame and of its acknowledgement, DA to FCS.
    fn round_trip_frames(&self) -> (u16, u16);
    /// Returns the frames of these messages, each given by its bytes in a stream and by its RDMA operations.
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train;
    /// Returns true if the transport's frames are ECN-capable.
    fn understands_marks(&self) -> bool {
        false
    }
    /// Returns the maximum random delay of a transmission; `None` if there is none.
    fn jitter(&self) -> Option<Time> {
        None
    }
    /// Validates the parameters.
    ///
    /// # Errors
    /// The first value outside its range, or a parameter with which the transport would send its own data.
    fn check(&self) -> Result<(), String>;
    /// Creates one end without data to send: the end that `opens` the connection, or its peer. `facts` are those of the
    /// path from this end.
    fn start(&self, opens: bool, facts: PathFacts, random: Random) -> Self::End;
}

/// One end of a connection that sends and receives: a state machine like [`Protocol`](crate::Protocol), below an application.
pub trait DuplexEnd {
    /// Processes a frame that has arrived. Returns true if more of the peer's messages may have been
    /// delivered.
    fn handle_frame(&mut self, now: Time, received: &Received) -> bool;
    /// Processes a timeout, at a NIC in which frames of this end may still wait; see
    /// [`Protocol::handle_timeout_at`](crate::Protocol::handle_timeout_at).
    fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool);
    /// Returns the next time at which to call [`DuplexEnd::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;
    /// Returns true if [`DuplexEnd::poll_transmit`] would return a segment.
    fn has_work(&self) -> bool;
    /// Returns the next segment, which is sent now.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;
    /// Accepts `bytes` more bytes of a stream. Message transports accept posts instead.
    fn write(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }
    /// Accepts these messages. Stream transports accept bytes instead.
    fn post(&mut self, now: Time, posts: &[Post]) {
        let _ = (now, posts);
    }
    /// Returns the number of bytes of the peer's stream that have arrived in order, or of its complete messages.
    fn delivered(&self) -> u64;
    /// Returns a measured round trip that has not been returned yet.
    fn poll_record(&mut self) -> Option<Record> {
        None
    }
    /// Implements [`Protocol::facts`](crate::Protocol::facts).
    fn facts(&self, now: Time) -> TransportFacts {
        let _ = now;
        TransportFacts::default()
    }
    /// Returns the heap memory in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
    /// Implements [`Protocol::notify`](crate::Protocol::notify).
    fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
        let _ = (now, received, port);
        None
    }
    /// Implements [`Protocol::accepts_trimmed`](crate::Protocol::accepts_trimmed).
    fn accepts_trimmed(&self) -> bool {
        false
    }
    /// Implements [`Protocol::on_event`](crate::Protocol::on_event).
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        let _ = (now, event);
        false
    }
    /// Returns the sender and the receiver with queue pairs, if the transport is RDMA.
    fn queue_pairs(&self) -> Option<(&RdmaSender, &RdmaReceiver)> {
        None
    }
    /// Shares the grant pacer of the host, if the receiver grants credit.
    fn attach_pacer(&mut self, pacer: &PullPacer) {
        let _ = pacer;
    }
    /// Returns the sender and the receiver with packet delivery contexts; `None` if the transport is not UET.
    fn uet(&self) -> Option<(&UetSender, &UetReceiver)> {
        None
    }
    /// Returns the sender with queue pairs, if the transport is RDMA.
    fn queue_pair_sender(&mut self) -> Option<&mut RdmaSender> {
        None
    }
}

/// The requirements of an application on its transport.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    /// Maximum frame length in bytes.
    pub frame: u16,
    /// Name of the application in messages, as in "in a conversation".
    pub place: &'a str,
    /// True if the application reads and writes the memory of its peer.
    pub one_sided: bool,
}

/// The keys of a transport below an application that sends messages in both directions.
pub trait TransportKeys {
    /// The transport that the keys describe.
    type Spec;

    /// The key that delays transmissions by random times, if there is one.
    const JITTER_KEY: Option<&'static str> = None;

    /// Returns the transport, and warnings.
    ///
    /// # Errors
    /// All invalid values.
    fn lower(&self, need: &Need<'_>) -> Result<(Self::Spec, Vec<Remark>), Vec<Remark>>;
}

/// Defines the closed enums of transports and of their ends with their dispatch, and the keys of applications above
/// them, from one list. An entry has the key, the keys of its table, the description, and the state machine.
macro_rules! transports {
    ($($(#[$doc:meta])+ $text:ident: $name:ident($keys:ty => $spec:ty, $end:ty)),* $(,)?) => {
        /// A validated transport below an application. Its parameters apply to both directions.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Transport {
            $($(#[$doc])+ $name($spec),)*
        }

        /// One end of a transport.
        #[derive(Clone, Debug)]
        #[expect(
            clippy::large_enum_variant,
            reason = "the application around it is boxed, and a second box would cost each frame of TCP a miss"
        )]
        pub enum Duplex {
            $($(#[$doc])+ $name($end),)*
        }

        impl Transport {
            /// Names of all transports.
            pub const NAMES: &[&str] = &[$(stringify!($text)),*];

            /// Returns the name of the transport in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(Transport::$name(_) => stringify!($text),)* }
            }
        }

        impl TransportSpec for Transport {
            type End = Duplex;

            fn unit(&self) -> Unit {
                match self { $(Transport::$name(it) => it.unit(),)* }
            }
            fn frames(&self) -> (u16, u16) {
                match self { $(Transport::$name(it) => TransportSpec::frames(it),)* }
            }
            fn round_trip_frames(&self) -> (u16, u16) {
                match self { $(Transport::$name(it) => TransportSpec::round_trip_frames(it),)* }
            }
            fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train {
                match self { $(Transport::$name(it) => it.train(messages),)* }
            }
            fn understands_marks(&self) -> bool {
                match self { $(Transport::$name(it) => TransportSpec::understands_marks(it),)* }
            }
            fn jitter(&self) -> Option<Time> {
                match self { $(Transport::$name(it) => TransportSpec::jitter(it),)* }
            }
            fn check(&self) -> Result<(), String> {
                match self { $(Transport::$name(it) => TransportSpec::check(it),)* }
            }
            fn start(&self, opens: bool, facts: PathFacts, random: Random) -> Duplex {
                match self { $(Transport::$name(it) => Duplex::$name(it.start(opens, facts, random).into()),)* }
            }
        }

        impl DuplexEnd for Duplex {
            fn handle_frame(&mut self, now: Time, received: &Received) -> bool {
                match self { $(Duplex::$name(it) => it.handle_frame(now, received),)* }
            }
            fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
                match self { $(Duplex::$name(it) => it.handle_timeout(now, is_queued),)* }
            }
            fn poll_timeout(&self) -> Option<Time> {
                match self { $(Duplex::$name(it) => it.poll_timeout(),)* }
            }
            fn has_work(&self) -> bool {
                match self { $(Duplex::$name(it) => it.has_work(),)* }
            }
            fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
                match self { $(Duplex::$name(it) => it.poll_transmit(now),)* }
            }
            fn write(&mut self, now: Time, bytes: u64) {
                match self { $(Duplex::$name(it) => it.write(now, bytes),)* }
            }
            fn post(&mut self, now: Time, posts: &[Post]) {
                match self { $(Duplex::$name(it) => it.post(now, posts),)* }
            }
            #[inline]
            fn delivered(&self) -> u64 {
                match self { $(Duplex::$name(it) => it.delivered(),)* }
            }
            fn poll_record(&mut self) -> Option<Record> {
                match self { $(Duplex::$name(it) => it.poll_record(),)* }
            }
            fn facts(&self, now: Time) -> TransportFacts {
                match self { $(Duplex::$name(it) => it.facts(now),)* }
            }
            fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
                match self { $(Duplex::$name(it) => it.on_event(now, event),)* }
            }
            fn memory_bytes(&self) -> usize {
                match self { $(Duplex::$name(it) => it.memory_bytes(),)* }
            }
            fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
                match self { $(Duplex::$name(it) => it.notify(now, received, port),)* }
            }
            fn accepts_trimmed(&self) -> bool {
                match self { $(Duplex::$name(it) => it.accepts_trimmed(),)* }
            }
            fn queue_pairs(&self) -> Option<(&RdmaSender, &RdmaReceiver)> {
                match self { $(Duplex::$name(it) => it.queue_pairs(),)* }
            }
            fn attach_pacer(&mut self, pacer: &PullPacer) {
                match self { $(Duplex::$name(it) => it.attach_pacer(pacer),)* }
            }
            fn uet(&self) -> Option<(&UetSender, &UetReceiver)> {
                match self { $(Duplex::$name(it) => it.uet(),)* }
            }
            fn queue_pair_sender(&mut self) -> Option<&mut RdmaSender> {
                match self { $(Duplex::$name(it) => it.queue_pair_sender(),)* }
            }
        }

        /// The transport keys of an application.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Transports<'a> {
            $(pub $text: Option<&'a $keys>,)*
        }

        impl Transports<'_> {
            /// Returns true if the application has a transport key.
            pub fn is_any(&self) -> bool {
                [$(self.$text.is_some()),*].contains(&true)
            }
            /// Returns the key that delays transmissions by random times, with its table, if there is one.
            pub fn jitter_key(&self) -> Option<&'static str> {
                $(if self.$text.is_some() {
                    return <$keys as TransportKeys>::JITTER_KEY;
                })*
                None
            }
            /// Returns the only transport, and warnings.
            ///
            /// # Errors
            /// All invalid values; or no transport, or more than one.
            pub fn lower(&self, need: &Need<'_>) -> Result<(Transport, Vec<Remark>), Vec<Remark>> {
                let given: Vec<&str> =
                    [$(self.$text.map(|_| stringify!($text))),*].into_iter().flatten().collect();
                if let [.., _, last] = given[..] {
                    let message = format!("{} {}", given.join(" and "), need.place);
                    let help = "messages have one transport; expected one of them";
                    return Err(vec![Remark::about(last, message, help)]);
                }
                let within = |all: Vec<Remark>, table: &str| -> Vec<Remark> {
                    all.into_iter().map(|why| why.within(table)).collect()
                };
                $(if let Some(keys) = self.$text {
                    let (spec, warnings) = keys.lower(need).map_err(|all| within(all, stringify!($text)))?;
                    return Ok((Transport::$name(spec), within(warnings, stringify!($text))));
                })*
                let message = format!("no transport {}", need.place);
                Err(vec![Remark::new(message, format!("expected one of {}", Transport::NAMES.join(", ")))])
            }
        }

        transports! { @keys ($) $($(#[$doc])+ $text: $keys,)* }
    };
    (@keys ($d:tt) $($(#[$doc:meta])+ $text:ident: $keys:ty,)*) => {
        /// Declares the keys of an application above transports: its own keys, and one for each transport.
        macro_rules! with_transports {
            ($d(#[$d meta:meta])* pub struct $d name:ident { $d($d body:tt)* }) => {
                $d(#[$d meta])*
                pub struct $d name {
                    $d($d body)*
                    $($(#[$doc])+
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $text: Option<Box<$keys>>,)*
                }

                impl $d name {
                    /// Returns the transport keys.
                    fn transports(&self) -> $crate::Transports<'_> {
                        $crate::Transports { $($text: self.$text.as_deref(),)* }
                    }
                }
            };
        }
        pub(crate) use with_transports;
    };
}

pub(crate) use transports;

/// Implements the calls of a [`Protocol`](crate::Protocol) that an application passes on to its field `duplex`.
macro_rules! calls_of_duplex {
    () => {
        fn has_work(&self) -> bool {
            self.duplex.has_work()
        }
        fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
            self.duplex.poll_transmit(now)
        }
        fn facts(&self, now: Time) -> TransportFacts {
            self.duplex.facts(now)
        }
        fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
            self.duplex.notify(now, received, port)
        }
        fn accepts_trimmed(&self) -> bool {
            self.duplex.accepts_trimmed()
        }
        fn stamps(&self, pair: u32) -> Option<&Stamps> {
            self.duplex.queue_pairs()?.1.stamps(pair)
        }
    };
}

pub(crate) use calls_of_duplex;
