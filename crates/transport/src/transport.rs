//! What carries the messages of an application from one host to the other and back.
//!
//! A transport is a description that both ends share ([`TransportSpec`]) and the machine at either end ([`DuplexEnd`]). Messages
//! of any number of bytes go in, what has been delivered of the peer's comes out; order, reliability, window and pacing are the
//! transport's own. The list of all is in `lib.rs`.

use crate::application::Random;
use crate::endpoint::{HostEvent, Received, Record, Segment, TransportFacts};
use crate::load::Train;
use crate::rdma::{Operation, PathFacts, Post};
use crate::{PullPacer, RdmaReceiver, RdmaSender, UetReceiver, UetSender};
use keys::Remark;
use units::Time;

/// What a transport counts deliveries in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a stream, in segments with so many bytes of data at most.
    Bytes(u16),
    /// Messages, each of which is this operation. `one_sided`: the applications may also read and write each other's memory.
    Messages {
        /// How the messages of an application are sent.
        operation: Operation,
        /// Whether RDMA WRITE and READ are there as well.
        one_sided: bool,
    },
}

/// A transport, checked.
pub trait TransportSpec {
    /// The machine at either end.
    type End: DuplexEnd;

    /// What its ends count deliveries in.
    fn unit(&self) -> Unit;
    /// The shortest and the longest frame of either end, DA to FCS.
    fn frames(&self) -> (u16, u16);
    /// Lengths of a full frame and of what acknowledges it, DA to FCS.
    fn round_trip_frames(&self) -> (u16, u16);
    /// The frames of messages, each of so many bytes of a stream, or of these posts.
    fn train(&self, messages: &mut dyn Iterator<Item = (u64, &[Post])>) -> Train;
    /// Whether switches may mark its frames.
    fn understands_marks(&self) -> bool {
        false
    }
    /// The longest random time by which what is sent waits; `None`: it has no such thing.
    fn jitter(&self) -> Option<Time> {
        None
    }
    /// Checks its parameters.
    ///
    /// # Errors
    /// The first that is outside of its range, or that sends something of its own.
    fn check(&self) -> Result<(), String>;
    /// One end, with nothing to send yet: the one that `opens` the connection, or the other one. `facts`: those of the path
    /// from it.
    fn start(&self, opens: bool, facts: PathFacts, random: Random) -> Self::End;
}

/// One end of a connection that sends and receives: a state machine as [`Protocol`](crate::Protocol), below an application.
pub trait DuplexEnd {
    /// A frame has arrived. Returns true if the peer's messages may have come further.
    fn handle_frame(&mut self, now: Time, received: &Received) -> bool;
    /// Its timeout has come, at a NIC in which frames of it may still wait; see
    /// [`Protocol::handle_timeout_at`](crate::Protocol::handle_timeout_at).
    fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool);
    /// When to call [`DuplexEnd::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;
    /// Whether [`DuplexEnd::poll_transmit`] would give a segment.
    fn has_work(&self) -> bool;
    /// The next segment, which leaves now.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;
    /// Takes so many more bytes of a stream; a transport of messages takes posts.
    fn write(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }
    /// Takes these messages; a transport of streams takes bytes.
    fn post(&mut self, now: Time, posts: &[Post]) {
        let _ = (now, posts);
    }
    /// Bytes of the peer's stream that have come in order, or messages that are whole.
    fn delivered(&self) -> u64;
    /// A round trip that was measured, and not yet returned.
    fn poll_record(&mut self) -> Option<Record> {
        None
    }
    /// See [`Protocol::facts`](crate::Protocol::facts).
    fn facts(&self, now: Time) -> TransportFacts {
        let _ = now;
        TransportFacts::default()
    }
    /// Bytes that it has taken beside itself.
    fn memory_bytes(&self) -> usize {
        0
    }
    /// See [`Protocol::notify`](crate::Protocol::notify).
    fn notify(&mut self, now: Time, received: &Received, port: &mut Time) -> Option<Segment> {
        let _ = (now, received, port);
        None
    }
    /// See [`Protocol::accepts_trimmed`](crate::Protocol::accepts_trimmed).
    fn accepts_trimmed(&self) -> bool {
        false
    }
    /// See [`Protocol::on_event`](crate::Protocol::on_event).
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        let _ = (now, event);
        false
    }
    /// Its queue pairs, if it has some.
    fn queue_pairs(&self) -> Option<(&RdmaSender, &RdmaReceiver)> {
        None
    }
    /// Shares the pacer of grants of its host, if its receiver grants credit.
    fn attach_pacer(&mut self, pacer: &PullPacer) {
        let _ = pacer;
    }
    /// Its packet delivery contexts; `None`: it is not UET.
    fn uet(&self) -> Option<(&UetSender, &UetReceiver)> {
        None
    }
    /// Its queue pairs that send, if it has some.
    fn queue_pair_sender(&mut self) -> Option<&mut RdmaSender> {
        None
    }
}

/// What an application needs of its transport.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    /// The longest frame.
    pub frame: u16,
    /// How messages speak of the application, as in "in a conversation".
    pub place: &'a str,
    /// Whether it reads and writes memory of the peer.
    pub one_sided: bool,
}

/// The keys of a transport below an application that sends messages in both directions.
pub trait TransportKeys {
    /// What they describe.
    type Spec;

    /// Whether they have one that delays what is sent by random times.
    const JITTER_KEY: Option<&'static str> = None;

    /// The transport, and what to beware of.
    ///
    /// # Errors
    /// All that is wrong.
    fn lower(&self, need: &Need<'_>) -> Result<(Self::Spec, Vec<Remark>), Vec<Remark>>;
}

/// Makes the closed enums of transports and of their ends with their dispatch, and the keys of applications above them, from one
/// list: the key, its keys, the description, the end.
macro_rules! transports {
    ($($(#[$doc:meta])+ $text:ident: $name:ident($keys:ty => $spec:ty, $end:ty)),* $(,)?) => {
        /// What carries the messages of an application, checked. It is the same in both directions.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Transport {
            $($(#[$doc])+ $name($spec),)*
        }

        /// One end of it.
        #[derive(Clone, Debug)]
        #[expect(
            clippy::large_enum_variant,
            reason = "the application around it is boxed, and a second box would cost each frame of TCP a miss"
        )]
        pub enum Duplex {
            $($(#[$doc])+ $name($end),)*
        }

        impl Transport {
            /// The names of all.
            pub const NAMES: &[&str] = &[$(stringify!($text)),*];

            /// Its name in scenarios.
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

        /// The keys of transports that an application has.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Transports<'a> {
            $(pub $text: Option<&'a $keys>,)*
        }

        impl Transports<'_> {
            /// Whether there is any.
            pub fn is_any(&self) -> bool {
                [$(self.$text.is_some()),*].contains(&true)
            }
            /// The key of the one that delays what is sent by random times, with its table.
            pub fn jitter_key(&self) -> Option<&'static str> {
                $(if self.$text.is_some() {
                    return <$keys as TransportKeys>::JITTER_KEY;
                })*
                None
            }
            /// The only one, and what to beware of.
            ///
            /// # Errors
            /// All that is wrong, and that there is more than one or none.
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
        /// Declares the keys of an application above transports: those that stand there, and one for each transport.
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
                    /// Its transports.
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

/// The calls of a [`Protocol`](crate::Protocol) that an application with a field `duplex` passes on to it.
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
