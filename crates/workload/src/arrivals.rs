//! When the next frame is due: the interface of arrival processes, and the closed list of them.

use crate::pace::rescaled;
use crate::spec::{FrameSizes, RateBasis};
use keys::Remark;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, ClockOffset, Time};

/// The random stream of a source.
pub type Random = Xoshiro256PlusPlus;

/// Pareto periods last at most this many times their mean, and transfers are limited likewise; the docs of the keys give this limit.
pub(crate) const LONGEST: f64 = 100.0;

/// The most streams of a source.
pub(crate) const MOST_STREAMS: u64 = 65_536;

/// Ten times the fastest link: a rate above that is probably a mistake in the unit.
const FASTEST_SOURCE: BitRate = BitRate::from_gbps(16_000);

/// The keys of an arrival process, as a scenario has them.
pub trait Configuration {
    /// The process at work.
    type Machine: Arrival;

    /// Why its sender has to be a host with a link, if it has to.
    const NEEDS_HOST: Option<&'static str> = None;
    /// Why its rate is at most that of the sender's link, if it is. Otherwise frames wait.
    const AT_MOST_THE_LINK: Option<&'static str> = None;
    /// True if it sets the lengths of frames ([`Arrival::bytes`]): at most those of the flow's longest.
    const CUTS_FRAMES: bool = false;

    /// Returns one remark per invalid value.
    fn check(&self) -> Vec<Remark>;
    /// Returns the keys without effect.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// True if the flow's setting of which bits count applies to its rate.
    const RATE_COUNTS: bool = true;
    /// The rate while it sends, and its key.
    fn rate(&self) -> (&'static str, BitRate);
    /// The process at this rate.
    #[must_use]
    fn at_rate(self, rate: BitRate) -> Self;
    /// Number of sources of that rate that it represents.
    fn sources(&self) -> u64 {
        1
    }
    /// The long-run rate in bits of frames (DA to FCS) a second, if [`Configuration::rate`] is `rate`.
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64;
    /// Number of consecutive frames to one destination.
    fn to_one_destination(&self) -> u64 {
        1
    }
    /// The process; `sizes` are the lengths of its frames.
    fn start(&self, link: Link, sizes: &FrameSizes) -> Self::Machine;
}

/// An arrival process at work. At a rate of zero it is silent, and its wake-up time is [`Time::NEVER`].
pub trait Arrival {
    /// When to wake a process that begins now. `next`: the length of the first frame.
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time;
    /// Returns true if a frame is due; otherwise only the state changes, and [`Arrival::next_wake`] gives the time.
    fn arrives(&mut self, _now: Time, _rng: &mut Random) -> bool {
        true
    }
    /// Returns true if a frame is due at its next wake-up, as opposed to a mere change of its state.
    fn frame_is_next(&self) -> bool {
        true
    }
    /// When to wake after [`Arrival::arrives`] returned false.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// Returns the length of the frame after the one made last, if the process sets the lengths of frames.
    fn bytes(&mut self, _rng: &mut Random) -> u16 {
        frame::MIN_FRAME_BYTES
    }
    /// When to wake after a frame now. `frames`: the lengths of that frame and of the next. `late`: it was due earlier,
    /// and was delayed.
    fn after(&mut self, link: Link, now: Time, late: bool, frames: [u16; 2], rng: &mut Random) -> Time;
    /// The rate; `None` if it has none.
    fn rate(&self) -> Option<BitRate>;
    /// Sets the rate of a process that is silent.
    fn set_rate(&mut self, link: Link, new: BitRate);
    /// The link has another rate; `link` is passed to calls from now on.
    fn on_link(&mut self, _link: Link) {}
    /// When to wake a process that would have been woken at `due` at the old rate and has the new one, neither of them
    /// zero. The elapsed part of an interval counts at the old rate; exponential gaps scale like an interval. A frame that
    /// is already due stays due.
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

/// Checks the rate of a source, given by this key: it must be above 0 and plausible.
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

/// A count that is not 1 to `most`.
pub(crate) fn outside(key: &str, count: u64, most: u64) -> Option<Remark> {
    let wrong = || Remark::about(key, format!("{key} = {count}"), format!("expected 1 to {most}"));
    (!(1..=most).contains(&count)).then(wrong)
}

/// The default of counts.
pub(crate) fn one() -> u64 {
    1
}

/// Adds the fraction that earlier gaps left in `rest` to `gap` picoseconds and rounds down; `rest` keeps the new fraction.
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
    /// Bytes around each frame on that link.
    pub overhead: u16,
    /// Which bits the source's rate counts.
    pub basis: RateBasis,
    /// Offset of the station's clock.
    pub clock: ClockOffset,
}

impl Link {
    /// Bytes of a frame that count for the rate.
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
    /// The probability of a frame of this length in a slot of its own length on the wire, such that
    /// the mean rate is `rate`.
    pub(crate) fn slot_probability(self, rate: BitRate, bytes: u16) -> f64 {
        let of_line = rate.bps_f64() / self.line.bps_f64().max(1.0);
        (of_line * self.on_wire(bytes) as f64 / self.counted(bytes) as f64).min(1.0)
    }

    /// The bits of frames (DA to FCS) a second at this rate.
    pub(crate) fn in_frames(self, rate: BitRate, sizes: &FrameSizes) -> f64 {
        rate.bps() as f64 * sizes.mean_bytes() / sizes.mean_of(|bytes| self.counted(bytes) as f64)
    }
}

/// Makes the closed enum of arrival processes, and its dispatch, from one list.
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

        /// Each arrival process's name, the file that is its page, and the definition of its keys.
        pub const ARRIVAL_PAGES: &[(&str, &str, &str)] =
            &[$((stringify!($file), include_str!(concat!(stringify!($file), ".rs")), stringify!($params))),*];

        impl Arrivals {
            /// Names of the processes that have keys.
            pub const NAMES: &[&str] = &[$(stringify!($file)),*];

            /// The one of this name, from its table.
            ///
            /// # Errors
            /// An unknown name or key, or a value of another form.
            pub fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Arrivals, D::Error> {
                match name {
                    $(stringify!($file) => Deserialize::deserialize(table).map(Arrivals::$name),)*
                    other => Err(serde::de::Error::unknown_variant(other, Arrivals::NAMES)),
                }
            }
            /// Its name.
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
            /// Returns true if it has a rate to which the flow's setting of which bits count applies.
            pub fn counts_rate(&self) -> bool {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => false,
                    $(Arrivals::$name(_) => <$params>::RATE_COUNTS,)*
                }
            }
            /// The key that names a file of pictures, and the file, if there is one.
            pub fn trace(&self) -> Option<(&'static str, &str)> {
                match self {
                    Arrivals::Video(video) => Some(("trace", video.trace.as_deref()?)),
                    _ => None,
                }
            }
            /// The key that enables counters per stream, and the number of streams, if it is set.
            pub fn counted(&self) -> Option<(&'static str, u64)> {
                match self {
                    Arrivals::Streams(streams) => streams.counted.then_some(("counted", streams.count)),
                    Arrivals::Video(video) => video.counted.then_some(("counted", video.count)),
                    _ => None,
                }
            }
            /// The process with the pictures of its file.
            pub fn with_pictures(self, sizes: Arc<[u32]>) -> Arrivals {
                match self {
                    Arrivals::Video(video) => Arrivals::Video(crate::VideoParams { sizes, ..video }),
                    other => other,
                }
            }
            /// Why its sender has to be a host, if it has to.
            pub fn needs_host(&self) -> Option<&'static str> {
                match self {
                    Arrivals::Greedy => Some("a switch has no link that would limit it; expected a source with a rate"),
                    $(Arrivals::$name(_) => <$params>::NEEDS_HOST,)*
                    Arrivals::Transfers(_) => None,
                }
            }
            /// Why its rate is at most that of the sender's link, if it is.
            pub fn at_most_the_link(&self) -> Option<&'static str> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => None,
                    $(Arrivals::$name(_) => <$params>::AT_MOST_THE_LINK,)*
                }
            }
            /// Returns true if its frames are at most as long as the flow's longest, regardless of other keys of the flow.
            pub fn cuts_frames(&self) -> bool {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => false,
                    $(Arrivals::$name(_) => <$params>::CUTS_FRAMES,)*
                }
            }
            /// Number of consecutive frames to one destination.
            pub(crate) fn to_one_destination(&self) -> u64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => 1,
                    $(Arrivals::$name(keys) => keys.to_one_destination(),)*
                }
            }
            /// The rate while it sends, and its key; `None` if it uses the full rate of the link.
            pub fn rate(&self) -> Option<(&'static str, BitRate)> {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => None,
                    $(Arrivals::$name(keys) => Some(keys.rate()),)*
                }
            }
            /// The process at this rate, if it has one.
            #[must_use]
            pub fn at_rate(self, rate: BitRate) -> Arrivals {
                match self {
                    $(Arrivals::$name(keys) => Arrivals::$name(Configuration::at_rate(keys, rate)),)*
                    other => other,
                }
            }
            /// Number of sources of that rate that it represents.
            pub fn sources(&self) -> u64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => 1,
                    $(Arrivals::$name(keys) => keys.sources(),)*
                }
            }
            /// The long-run rate in bits of frames per second while it sends at `rate`; NaN if it has none.
            pub(crate) fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
                match self {
                    Arrivals::Greedy | Arrivals::Transfers(_) => f64::NAN,
                    $(Arrivals::$name(keys) => keys.mean_bps(rate, sizes, link),)*
                }
            }
        }

        /// The states of arrival processes.
        #[derive(Clone, Debug)]
        pub(crate) enum Kind {
            Greedy,
            $($name(<$params as Configuration>::Machine),)*
            /// As fast as the link takes them.
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
