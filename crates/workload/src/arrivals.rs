//! The interface of arrival processes, which determine when the next frame is due, and the closed list of them.

use crate::pace::rescaled;
use crate::spec::{FrameSizes, RateBasis};
use keys::Remark;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, ClockOffset, Time};

/// The random number generator of a source.
pub type Random = Xoshiro256PlusPlus;

/// Upper limit of Pareto periods, and of the sizes of transfers, as a multiple of their mean. The docs of the keys
/// state this limit.
pub(crate) const LONGEST: f64 = 100.0;

/// Maximum number of streams of a source.
pub(crate) const MOST_STREAMS: u64 = 65_536;

/// Upper limit of a source's rate: ten times the fastest link. A higher rate is probably a mistake in the unit.
const FASTEST_SOURCE: BitRate = BitRate::from_gbps(16_000);

/// The keys of an arrival process in a scenario.
pub trait Configuration {
    /// The state machine of the process.
    type Machine: Arrival;

    /// Reason why the sender has to be a host with a link, if it has to be one.
    const NEEDS_HOST: Option<&'static str> = None;
    /// Reason why the rate may not exceed that of the sender's link. `None`: it may, and frames then wait.
    const AT_MOST_THE_LINK: Option<&'static str> = None;
    /// True if the process sets the lengths of its frames ([`Arrival::bytes`]), up to the flow's maximum.
    const CUTS_FRAMES: bool = false;

    /// Returns one remark per invalid value.
    fn check(&self) -> Vec<Remark>;
    /// Returns the keys without effect.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// True if the flow's setting of which bits count applies to the rate of the process.
    const RATE_COUNTS: bool = true;
    /// Returns the key of the rate, and the rate while the process sends.
    fn rate(&self) -> (&'static str, BitRate);
    /// Returns the process at another rate.
    #[must_use]
    fn at_rate(self, rate: BitRate) -> Self;
    /// Returns the number of sources of that rate that the process represents.
    fn sources(&self) -> u64 {
        1
    }
    /// Returns the long-run rate in bits of frames (DA to FCS) per second if [`Configuration::rate`] is `rate`.
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64;
    /// Returns the number of consecutive frames to one destination.
    fn to_one_destination(&self) -> u64 {
        1
    }
    /// Creates the state machine; `sizes` are the lengths of its frames.
    fn start(&self, link: Link, sizes: &FrameSizes) -> Self::Machine;
}

/// The state machine of an arrival process. At a rate of zero it is silent, and its wake-up time is [`Time::NEVER`].
pub trait Arrival {
    /// Begins the process at `now` and returns its first wake-up time. `next` is the length of the first frame.
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time;
    /// Returns true if a frame is due. If not, only the state changes, and [`Arrival::next_wake`] returns the next
    /// wake-up time.
    fn arrives(&mut self, _now: Time, _rng: &mut Random) -> bool {
        true
    }
    /// Returns true if a frame is due at the next wake-up, as opposed to a mere change of state.
    fn frame_is_next(&self) -> bool {
        true
    }
    /// Returns the next wake-up time after [`Arrival::arrives`] returned false.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// Returns the length of the frame after the last one made, if the process sets the lengths of frames.
    fn bytes(&mut self, _rng: &mut Random) -> u16 {
        frame::MIN_FRAME_BYTES
    }
    /// Accounts for a frame sent at `now` and returns the next wake-up time. `frames` are the lengths of that frame and
    /// of the next. `late` is true if the frame was due earlier and was delayed.
    fn after(&mut self, link: Link, now: Time, late: bool, frames: [u16; 2], rng: &mut Random) -> Time;
    /// Returns the rate; `None` if the process has none.
    fn rate(&self) -> Option<BitRate>;
    /// Sets the rate. The process is silent.
    fn set_rate(&mut self, link: Link, new: BitRate);
    /// Adapts to a new rate of the link; later calls pass the new `link` as well.
    fn on_link(&mut self, _link: Link) {}
    /// Changes the rate of an active process and returns the new time of the wake-up that was due at `due`. Both rates
    /// are above zero. The elapsed part of an interval counts at the old rate; exponential gaps scale like an interval.
    /// A frame that is already due stays due.
    fn rescale(
        &mut self,
        _link: Link,
        now: Time,
        due: Time,
        (old, new): (BitRate, BitRate),
        _next: u16,
        _rng: &mut Random,
    ) -> Time {
        if due <= now { due } else { now.saturating_add(rescaled(due - now, old, new)) }
    }
}

/// Checks the rate of a source, given by this key. It must be above 0 and plausible.
pub fn no_rate(key: &str, rate: BitRate) -> Option<Remark> {
    let (message, help) = if rate.bps() == 0 {
        let help =
            "expected a rate above 0, like \"2.5 Gb/s\"; a source is silent before start and after stop";
        ("the rate of a source is 0".to_string(), help.to_string())
    } else if rate > FASTEST_SOURCE {
        (format!("a source of {rate} is too fast"), format!("expected at most \"{FASTEST_SOURCE}\""))
    } else {
        return None;
    };
    Some(Remark::about(key, message, help))
}

/// Checks that a count is from 1 to `most`.
pub(crate) fn outside(key: &str, count: u64, most: u64) -> Option<Remark> {
    let wrong = || Remark::about(key, format!("{key} = {count}"), format!("expected 1 to {most}"));
    (!(1..=most).contains(&count)).then(wrong)
}

/// Default of counts.
pub(crate) fn one() -> u64 {
    1
}

/// Adds to `gap` (in picoseconds) the fraction that earlier gaps left in `rest`, and rounds down; `rest` keeps the new
/// fraction.
#[inline]
pub(crate) fn whole_ps(gap: f64, rest: &mut f64) -> Time {
    const END_OF_TIME: f64 = (1u64 << 63) as f64;
    let exact = gap + *rest;
    if exact < END_OF_TIME {
        let whole = exact as u64;
        *rest = exact - whole as f64;
        Time::from_ps(whole)
    } else {
        *rest = 0.0;
        Time::NEVER
    }
}

/// Properties of the link and the source that are passed to each computation of the next time.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the source's link.
    pub line: BitRate,
    /// Bytes of overhead of each frame on that link.
    pub overhead: u16,
    /// Bits that the source's rate counts.
    pub basis: RateBasis,
    /// Offset of the station's clock.
    pub clock: ClockOffset,
}

impl Link {
    /// Returns the bytes of a frame that count towards the rate.
    #[inline]
    pub(crate) fn counted(self, bytes: u16) -> u64 {
        match self.basis {
            RateBasis::Frame => bytes.into(),
            RateBasis::Wire => self.on_wire(bytes),
        }
    }
    #[inline]
    pub(crate) fn on_wire(self, bytes: u16) -> u64 {
        u64::from(bytes) + u64::from(self.overhead)
    }
    /// Returns the probability of a frame of this length per slot, such that the mean rate is `rate`. A slot lasts as
    /// long as the frame on the wire.
    pub(crate) fn slot_probability(self, rate: BitRate, bytes: u16) -> f64 {
        let of_line = rate.bps_f64() / self.line.bps_f64().max(1.0);
        (of_line * self.on_wire(bytes) as f64 / self.counted(bytes) as f64).min(1.0)
    }

    /// Converts this rate to bits of frames (DA to FCS) per second.
    pub(crate) fn in_frames(self, rate: BitRate, sizes: &FrameSizes) -> f64 {
        rate.bps() as f64 * sizes.mean_bytes() / sizes.mean_of(|bytes| self.counted(bytes) as f64)
    }
}

/// Defines the closed enum of arrival processes, and its dispatch, from one list.
macro_rules! arrivals {
    ($($(#[$doc:meta])+ $file:ident: $name:ident($params:ty)),* $(,)?) => {
        /// Arrival process of frames.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Arrivals {
            /// Saturating source: always has a frame to send, and uses the full rate of the link.
            Greedy,
            $($(#[$doc])+ $name($params),)*
            /// Transfers, as fast as the link takes them; the `sizes` of their source give the length of a full frame.
            #[serde(skip)]
            Transfers(Arc<TransferList>),
        }

        /// By arrival process: its name, the source file of its reference page, and the definition of its keys.
        pub const ARRIVAL_PAGES: &[(&str, &str, &str)] =
            &[$((stringify!($file), include_str!(concat!(stringify!($file), ".rs")), stringify!($params))),*];

        impl Arrivals {
            /// Names of the processes that have keys.
            pub const NAMES: &[&str] = &[$(stringify!($file)),*];

            /// Reads the process of this name from its table.
            ///
            /// # Errors
            /// An unknown name or key, or a value of the wrong type.
            pub fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Arrivals, D::Error> {
                match name {
                    $(stringify!($file) => Deserialize::deserialize(table).map(Arrivals::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Arrivals::NAMES)),
                }
            }
            /// Returns the name of the process in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    Arrivals::Greedy => "greedy",
                    $(Arrivals::$name(_) => stringify!($file),)*
                    Arrivals::Transfers(_) => "transfers",
                }
            }
            /// Returns one remark per invalid value, with places relative to the source.
            pub fn check(&self) -> Vec<Remark> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => Vec::new(),
                    $(Arrivals::$name(keys) => {
                        keys.check().into_iter().map(|why| why.within(stringify!($file))).collect()
                    })*
                }
            }
            /// Returns the keys without effect, with places relative to the source.
            pub fn unused(&self) -> Vec<Remark> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => Vec::new(),
                    $(Arrivals::$name(keys) => {
                        keys.unused().into_iter().map(|why| why.within(stringify!($file))).collect()
                    })*
                }
            }
            /// Returns true if the process has a rate to which the flow's setting of which bits count applies.
            pub fn counts_rate(&self) -> bool {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => false,
                    $(Arrivals::$name(_) => <$params>::RATE_COUNTS,)*
                }
            }
            /// Returns the key that names a file of pictures, and the file, if there is one.
            pub fn trace(&self) -> Option<(&'static str, &str)> {
                match self {
                    Arrivals::Video(video) => Some(("trace", video.trace.as_deref()?)),
                    _ => None,
                }
            }
            /// Returns the key that enables counters per stream, and the number of streams, if the key is set.
            pub fn counted(&self) -> Option<(&'static str, u64)> {
                match self {
                    Arrivals::Streams(streams) => streams.counted.then_some(("counted", streams.count)),
                    Arrivals::Video(video) => video.counted.then_some(("counted", video.count)),
                    _ => None,
                }
            }
            /// Returns the process with the pictures of its file.
            pub fn with_pictures(self, sizes: Arc<[u32]>) -> Arrivals {
                match self {
                    Arrivals::Video(video) => Arrivals::Video(crate::VideoParams { sizes, ..video }),
                    other => other,
                }
            }
            /// Returns the reason why the sender has to be a host, if it has to be one.
            pub fn needs_host(&self) -> Option<&'static str> {
                match self {
                    Arrivals::Greedy => Some("a switch has no link that would limit it; expected a source with a rate"),
                    $(Arrivals::$name(_) => <$params>::NEEDS_HOST,)*
                    Arrivals::Transfers(_) => None,
                }
            }
            /// Returns the reason why the rate may not exceed that of the sender's link, if it may not.
            pub fn at_most_the_link(&self) -> Option<&'static str> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => None,
                    $(Arrivals::$name(_) => <$params>::AT_MOST_THE_LINK,)*
                }
            }
            /// Returns true if the process sets the lengths of its frames, up to the flow's maximum and regardless of
            /// the flow's other keys.
            pub fn cuts_frames(&self) -> bool {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => false,
                    $(Arrivals::$name(_) => <$params>::CUTS_FRAMES,)*
                }
            }
            /// Returns the number of consecutive frames to one destination.
            pub(crate) fn to_one_destination(&self) -> u64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => 1,
                    $(Arrivals::$name(keys) => keys.to_one_destination(),)*
                }
            }
            /// Returns the key of the rate, and the rate while the process sends; `None` if it uses the full rate of
            /// the link.
            pub fn rate(&self) -> Option<(&'static str, BitRate)> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => None,
                    $(Arrivals::$name(keys) => Some(keys.rate()),)*
                }
            }
            /// Returns the process at another rate, if it has one.
            #[must_use]
            pub fn at_rate(self, rate: BitRate) -> Arrivals {
                match self {
                    $(Arrivals::$name(keys) => Arrivals::$name(Configuration::at_rate(keys, rate)),)*
                    other => other,
                }
            }
            /// Returns the number of sources of that rate that the process represents.
            pub fn sources(&self) -> u64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => 1,
                    $(Arrivals::$name(keys) => keys.sources(),)*
                }
            }
            /// Returns the long-run rate in bits of frames per second for a process that sends at `rate`; NaN if it has
            /// no rate.
            pub(crate) fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => f64::NAN,
                    $(Arrivals::$name(keys) => keys.mean_bps(rate, sizes, link),)*
                }
            }
        }

        /// The state of an arrival process, by kind.
        #[derive(Clone, Debug)]
        pub(crate) enum Kind {
            Greedy,
            $($name(<$params as Configuration>::Machine),)*
            /// Transfers: as fast as the link accepts their frames.
            Transfers(Box<Sender>),
        }

        impl Kind {
            pub(crate) fn new(arrivals: &Arrivals, link: Link, sizes: &FrameSizes) -> Kind {
                match arrivals {
                    Arrivals::Greedy | Arrivals::Transfers(_) => Kind::Greedy,
                    $(Arrivals::$name(keys) => Kind::$name(keys.start(link, sizes)),)*
                }
            }
        }

        impl Arrival for Kind {
            fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => Time::NEVER,
                    $(Kind::$name(it) => Arrival::start(it, link, now, next, rng),)*
                }
            }
            #[inline]
            fn arrives(&mut self, now: Time, rng: &mut Random) -> bool {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => true,
                    $(Kind::$name(it) => it.arrives(now, rng),)*
                }
            }
            fn frame_is_next(&self) -> bool {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => true,
                    $(Kind::$name(it) => it.frame_is_next(),)*
                }
            }
            fn next_wake(&self) -> Time {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => Time::NEVER,
                    $(Kind::$name(it) => Arrival::next_wake(it),)*
                }
            }
            fn bytes(&mut self, rng: &mut Random) -> u16 {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => frame::MIN_FRAME_BYTES,
                    $(Kind::$name(it) => it.bytes(rng),)*
                }
            }
            #[inline]
            fn after(&mut self, link: Link, now: Time, late: bool, frames: [u16; 2], rng: &mut Random) -> Time {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => Time::NEVER,
                    $(Kind::$name(it) => it.after(link, now, late, frames, rng),)*
                }
            }
            fn rate(&self) -> Option<BitRate> {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => None,
                    $(Kind::$name(it) => it.rate(),)*
                }
            }
            fn set_rate(&mut self, link: Link, new: BitRate) {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => {}
                    $(Kind::$name(it) => it.set_rate(link, new),)*
                }
            }
            fn on_link(&mut self, link: Link) {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => {}
                    $(Kind::$name(it) => it.on_link(link),)*
                }
            }
            fn rescale(
                &mut self, link: Link, now: Time, due: Time, rates: (BitRate, BitRate), next: u16, rng: &mut Random,
            ) -> Time {
                match self {
                    Kind::Greedy | Kind::Transfers(_) => due,
                    $(Kind::$name(it) => it.rescale(link, now, due, rates, next, rng),)*
                }
            }
        }
    };
}

pub(crate) use arrivals;
