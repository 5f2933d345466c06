//! Credit-based flow control: a frame is sent only if the receiver at the other end of the link has buffer space for
//! it.
//!
//! Each virtual channel of a link has its own receive buffer, which is counted in credits. The sender counts the
//! available credits. A frame consumes bytes / unit credits, rounded up. A channel without enough credits for its next
//! frame is not scheduled. When a frame leaves the receive buffer, the receiver owes its credits to the sender, and
//! returns them in an *update*. No frame is dropped for lack of buffer space. Queues of a port that use the same
//! channel share its credits; all frames of a priority use one channel.
//!
//! An update carries the cumulative number of freed credits of every channel, so that the next update compensates for
//! a lost one. It is sent when a channel is owed `update_after`, or `update_within` after the first credit was owed (a
//! one-shot timer, not a free-running clock). It takes effect `update_delay` after its arrival.
//!
//! With `piggyback` a departing frame carries an update if credits are owed to the other end. If there is enough
//! traffic in the reverse direction, no separate updates are needed. Separate updates are one message each.
//!
//! With one channel in use and a buffer of B credits of 64 B, a link carries at most B * 64 B per round trip, from the
//! first bit of a frame to the effect of the update that returns its credits.
//!
//! Other technologies have other units: PCI Express 16 B, InfiniBand 64 B, and Ultra Ethernet (CBFC) 256 B plus 8 B
//! for each frame. `unit` and `per_frame` set them.
//!
//! `preset = "cbfc"` selects credit-based flow control of Ultra Ethernet. An update (CF_Update, a control ordered set
//! of 8 B) is sent as soon as a credit is freed, but at least `cf_min_spacing` after the previous one. With
//! `cf_max_spacing` a lost update is repeated after that spacing. With `cc_message_timer` the credits of frames lost
//! on the link are recovered: the sender periodically transmits its count of consumed credits (CC_Update), and the
//! receiver frees the credits of frames that never arrived.
//!
//! Source: Martinez 2006 §2 (64-byte credits, a count for each channel, channels without credits are skipped). It does
//! not specify buffers and updates: the defaults of the keys are ours.
//!
//! Channels may be of the three kinds of Advanced Switching. A bypassable channel has a second queue with its own
//! credits and updates (`penstock explain channels`).
//!
//! A frame that is corrupted on a link with credits loses them. This ends the run, unless `cc_message_timer` recovers
//! the credits or link-level retry retransmits the frame (`penstock explain llr`). Credits are freed when the
//! transmission of a frame *begins*, like all memory in Penstock. This is equivalent to a buffer that frees space byte
//! by byte during the transmission; a buffer that frees it after the last byte needs space for one more frame.
//!
//! Not modelled: more than eight channels selected by priority (with `channels = "all"` there are 20, and flows select
//! theirs); the transmission time of CC_Update, and of a CF_Update without new counts; limits of credits per port.

mod counts;

pub use counts::{
    BANK, COUNTS, Freed, MOST_CREDITS, Overdraft, Receiver, Sender, channel_of_count, count_of_channel,
    counts_of_channel, is_bypass,
};

use crate::channels::{ChannelList, Channels};
use crate::control::settings;
use crate::{Configuration, Control, Findings};
use frame::{ClassMap, Frame, Priority};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Bytes, Time};

/// Defaults of the keys by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditPreset {
    /// Advanced Switching.
    #[default]
    AdvancedSwitching,
    /// Credit-based flow control of Ultra Ethernet.
    Cbfc,
}

settings! {
    /// Keys of credit-based flow control.
    pub struct CreditSettings {
        /// Priorities with credit-based flow control, 0 to 7 each; others have no flow control, or PFC in `by_class`. Not together with channels = "all". Default: all priorities.
        pub priorities: Vec<u32>,
        /// Defaults of the other keys: "advanced_switching", or "cbfc" (Ultra Ethernet: a buffer of 64 KiB, credits of 256 B, 8 B per frame, updates of 8 B for each credit, at least 6400 B apart; lost updates are repeated after 262144 B, and lost credits are recovered within 256 us). Default: "advanced_switching".
        pub preset: CreditPreset,
        /// Receive buffer of each channel at each port of this station: the granted credits times `unit`. A size, 1 to 16,384 whole credits. Default: "8704 B" (136 credits of 64 B: four of the largest frames of Advanced Switching).
        #[schemars(extend("default" = "8704 B"))]
        pub buffer: Bytes,
        /// Bytes per credit; must be equal at both ends of a link. A size, "1 B" to "65535 B". Default: "64 B" (Advanced Switching).
        #[schemars(extend("default" = "64 B"))]
        pub unit: Bytes,
        /// Bytes that each frame occupies in the buffer in addition to its length (DA to FCS); must be equal at both ends of a link. A size, up to "65535 B". Default: "0 B".
        #[schemars(extend("default" = "0 B"))]
        pub per_frame: Bytes,
        /// Channel of each priority, starting with priority 0; must be equal at both ends of a link. Eight numbers, 0 to 7; or eight names, "B0" to "B7" with a bypass queue, "O0" to "O7" and "M0" to "M3" without; or "all" for all twenty channels, each with a queue at every port, which flows select by `channel`. Default: [0, 1, 2, 3, 4, 5, 6, 7] (one channel per priority).
        #[schemars(extend("default" = [0, 1, 2, 3, 4, 5, 6, 7]))]
        pub channels: ChannelList,
        /// Owed credits of a channel, in bytes, at which an update is sent. A size, "1 B" (an update for each frame) to the size of the buffer. Default: "1088 B" (half of the largest frame of Advanced Switching), or the buffer if that is smaller.
        pub update_after: Bytes,
        /// Maximum delay of an update for a smaller amount. A time with unit, up to "1 s". Default: "1 us".
        #[schemars(extend("default" = "1 us"))]
        pub update_within: Time,
        /// Time from the arrival of an update to its effect. A time with unit, up to "1 s". Default: "10 ns".
        #[schemars(extend("default" = "10 ns"))]
        pub update_delay: Time,
        /// Length of an update on the link, including line overhead; updates are sent ahead of queued frames. With "0 B" they take no time and need not wait. A size, up to "65535 B". Default: "0 B".
        #[schemars(extend("default" = "0 B"))]
        pub update_bytes: Bytes,
        /// Minimum spacing of updates on the link, in bytes at its rate (CF_min_spacing). A size, "800 B" or more; "0 B": none. Default: "0 B".
        #[schemars(extend("default" = "0 B"))]
        pub cf_min_spacing: Bytes,
        /// Spacing after which a lost update is repeated (CF_max_spacing). A size, from `cf_min_spacing` on; "0 B": lost updates are not repeated, and the next update compensates for them. Default: "0 B".
        #[schemars(extend("default" = "0 B"))]
        pub cf_max_spacing: Bytes,
        /// Period after which the credits of frames lost on the link are recovered (CC message timer). A time with unit, "1 us" to "25 ms"; "0 s": never, so that links must not lose frames. Default: "0 s".
        #[schemars(extend("default" = "0 s"))]
        pub cc_message_timer: Time,
        /// Additional length on the link of a departing frame that carries a pending update; "0 B": no additional length. A size, up to "65535 B". Default: frames carry none.
        pub piggyback: Bytes,
    }
}

/// The keys with their defaults.
#[derive(Debug)]
struct Values {
    /// `None` stands for all priorities.
    priorities: Option<Vec<u32>>,
    preset: CreditPreset,
    buffer: Bytes,
    unit: Bytes,
    per_frame: Bytes,
    channels: ChannelList,
    update_after: Bytes,
    update_within: Time,
    update_delay: Time,
    update_bytes: Bytes,
    cf_min_spacing: Bytes,
    cf_max_spacing: Bytes,
    cc_message_timer: Time,
    piggyback: Option<Bytes>,
}

impl CreditSettings {
    fn values(&self) -> Values {
        let preset = self.preset.unwrap_or_default();
        let by_preset =
            |usual: u64, cbfc: u64| Bytes::new(if preset == CreditPreset::Cbfc { cbfc } else { usual });
        let buffer = self.buffer.unwrap_or(by_preset(136 * 64, 64 << 10));
        let timer = if preset == CreditPreset::Cbfc { Time::from_us(256) } else { Time::ZERO };
        Values {
            priorities: self.priorities.clone(),
            preset,
            buffer,
            unit: self.unit.unwrap_or(by_preset(64, 256)),
            per_frame: self.per_frame.unwrap_or(by_preset(0, 8)),
            channels: self.channels.clone().unwrap_or_default(),
            update_after: self.update_after.unwrap_or(by_preset(1088, 1).min(buffer)),
            update_within: self.update_within.unwrap_or(Time::from_us(1)),
            update_delay: self.update_delay.unwrap_or(Time::from_ns(10)),
            update_bytes: self.update_bytes.unwrap_or(by_preset(0, 8)),
            cf_min_spacing: self.cf_min_spacing.unwrap_or(by_preset(0, 6400)),
            cf_max_spacing: self.cf_max_spacing.unwrap_or(by_preset(0, 1 << 18)),
            cc_message_timer: self.cc_message_timer.unwrap_or(timer),
            piggyback: self.piggyback,
        }
    }

    fn fill(&mut self) {
        let values = self.values();
        *self = CreditSettings {
            priorities: values.priorities,
            preset: Some(values.preset),
            buffer: Some(values.buffer),
            unit: Some(values.unit),
            per_frame: Some(values.per_frame),
            channels: Some(values.channels),
            update_after: Some(values.update_after),
            update_within: Some(values.update_within),
            update_delay: Some(values.update_delay),
            update_bytes: Some(values.update_bytes),
            cf_min_spacing: Some(values.cf_min_spacing),
            cf_max_spacing: Some(values.cf_max_spacing),
            cc_message_timer: Some(values.cc_message_timer),
            piggyback: values.piggyback,
        };
    }

    /// Validates the settings.
    ///
    /// # Errors
    /// A value is outside its range.
    pub fn check(&self) -> Result<(), Remark> {
        self.values().check()
    }

    /// Returns the specification of a station. The settings have passed [`CreditSettings::check`].
    pub fn spec(&self) -> CreditSpec {
        self.values().spec()
    }
}

impl Configuration for CreditSettings {
    fn or(&self, outer: &CreditSettings) -> CreditSettings {
        self.or(outer)
    }
    fn complete(&mut self, _: &[u32]) {
        self.fill();
    }
    fn check(&self, _: &[u32]) -> Findings {
        let values = self.values();
        let at_once = values.update_after <= values.unit && values.update_within != Time::from_us(1);
        let needs = "an `update_after` above `unit`: each frame is advertised at once";
        let warnings = at_once.then(|| keys::unused("update_within", needs)).into_iter().collect();
        Findings { wrong: self.check().err().into_iter().collect(), warnings }
    }
    fn start(&self, _: &'static str) -> Control {
        Control::Credits(self.spec())
    }
}

fn about<T>(key: &str, message: String, help: String) -> Result<T, Remark> {
    Err(Remark::about(key, message, help))
}

impl Values {
    fn check(&self) -> Result<(), Remark> {
        let most = u64::from(u16::MAX);
        let sizes = [
            ("unit", self.unit, 1),
            ("per_frame", self.per_frame, 0),
            ("update_bytes", self.update_bytes, 0),
            ("piggyback", self.piggyback.unwrap_or_default(), 0),
        ];
        for (key, size, least) in sizes {
            if !(least..=most).contains(&size.get()) {
                return about(
                    key,
                    format!("{key} is {size}"),
                    format!("expected \"{least} B\" to \"{most} B\""),
                );
            }
        }
        self.check_priorities()?;
        self.check_buffer()?;
        self.check_cbfc()?;
        for (key, time) in [("update_within", self.update_within), ("update_delay", self.update_delay)] {
            if time > Time::from_ms(1000) {
                return about(key, format!("{key} is {time}"), "expected at most \"1 s\"".to_string());
            }
        }
        Channels::new(&self.channels).map(drop)
    }

    fn check_priorities(&self) -> Result<(), Remark> {
        let Some(list) = &self.priorities else { return Ok(()) };
        let help = || "expected priorities 0 to 7, each once, like [3]".to_string();
        if list.is_empty() {
            return about("priorities", "no priority takes credits".to_string(), help());
        }
        for (nth, &priority) in list.iter().enumerate() {
            if priority > 7 || list[..nth].contains(&priority) {
                let message = if priority > 7 {
                    format!("priority {priority}")
                } else {
                    format!("priority {priority} is listed twice")
                };
                return Err(Remark::about("priorities", message, help()).entry(nth));
            }
        }
        if self.channels == ChannelList::All {
            let message = "priorities beside channels = \"all\"".to_string();
            return about(
                "priorities",
                message,
                "expected eight channels: flows name all twenty".to_string(),
            );
        }
        Ok(())
    }

    fn check_cbfc(&self) -> Result<(), Remark> {
        let (least, most, timer) = (self.cf_min_spacing, self.cf_max_spacing, self.cc_message_timer);
        if (1..800).contains(&least.get()) || least.get() > 1 << 24 {
            let help = "expected \"800 B\" to \"16 MiB\", or \"0 B\" for none".to_string();
            return about("cf_min_spacing", format!("cf_min_spacing is {least}"), help);
        }
        if most.get() > 0 && most < least || most.get() > 1 << 24 {
            let help = format!(
                "expected at least cf_min_spacing, \"{least}\", and at most \"16 MiB\"; or \"0 B\" for none"
            );
            return about("cf_max_spacing", format!("cf_max_spacing is {most}"), help);
        }
        if timer > Time::ZERO && !(Time::from_us(1)..=Time::from_ms(25)).contains(&timer) {
            let help = "expected \"1 us\" to \"25 ms\", or \"0 s\" for none".to_string();
            return about("cc_message_timer", format!("cc_message_timer is {timer}"), help);
        }
        Ok(())
    }

    fn check_buffer(&self) -> Result<(), Remark> {
        let (buffer, unit) = (self.buffer, self.unit);
        let credits = buffer.get() / unit.get();
        if !(1..=MOST_CREDITS).contains(&credits) {
            let help = format!("expected 1 to {MOST_CREDITS} credits of {unit}");
            return about("buffer", format!("a buffer of {buffer} has {credits} credits"), help);
        }
        if !buffer.get().is_multiple_of(unit.get()) {
            let sizes = [buffer.get(), unit.get(), credits * unit.get()];
            let [buffer, unit, like] = Amount::alike(sizes.map(Amount::Bytes));
            let help = format!("expected a multiple of {unit}, like \"{like}\"");
            return about("buffer", format!("a buffer of {buffer} is not a whole number of credits"), help);
        }
        if !(1..=buffer.get()).contains(&self.update_after.get()) {
            let [after, buffer] =
                Amount::alike([self.update_after, buffer].map(|size| Amount::Bytes(size.get())));
            let help = format!("expected \"1 B\" to the buffer, \"{buffer}\"");
            return about("update_after", format!("update_after is {after}"), help);
        }
        Ok(())
    }

    fn spec(&self) -> CreditSpec {
        let names = Channels::new(&self.channels).unwrap_or_else(|_| Channels::separate());
        let count = |bytes: Bytes| bytes.get() as u32;
        let list = self.priorities.iter().flatten();
        let listed = list.filter(|&&priority| priority <= 7).fold(0, |set, &priority| set | 1u32 << priority);
        CreditSpec {
            priorities: if self.priorities.is_some() { listed } else { u32::MAX },
            credits: (self.buffer.get() / self.unit.get().max(1)) as u32,
            unit: count(self.unit).max(1),
            per_frame: count(self.per_frame),
            channels: names.map(),
            bypassable: names.bypassable(),
            names,
            update_after: count(self.update_after).div_ceil(count(self.unit).max(1)),
            update_within: self.update_within,
            update_delay: self.update_delay,
            update_bytes: count(self.update_bytes) as u16,
            cf_min_spacing: count(self.cf_min_spacing),
            cf_max_spacing: count(self.cf_max_spacing),
            cc_message_timer: self.cc_message_timer,
            piggyback: self.piggyback.map(|bytes| count(bytes) as u16),
        }
    }
}

/// Credit-based flow control of a station, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreditSpec {
    /// Priorities or channels with credits, bit n for number n.
    pub priorities: u32,
    /// Credits that each port grants per channel.
    pub credits: u32,
    /// Bytes per credit.
    pub unit: u32,
    /// Bytes that a frame occupies in addition to its length.
    pub per_frame: u32,
    /// Channel of each priority.
    pub channels: ClassMap,
    /// Channels with a bypass queue, bit n for channel n.
    pub bypassable: u32,
    /// Names of the channels.
    pub names: Channels,
    /// Number of owed credits at which an update is due at once.
    pub update_after: u32,
    /// Delay after which an update is due for fewer owed credits.
    pub update_within: Time,
    /// Time from the arrival of an update to its effect.
    pub update_delay: Time,
    /// Bytes of an update on the link; 0 if updates take no time.
    pub update_bytes: u16,
    /// Minimum distance between updates, in bytes.
    pub cf_min_spacing: u32,
    /// Distance in bytes after which a lost update is repeated; 0 if it is not repeated.
    pub cf_max_spacing: u32,
    /// Period in which lost credits are restored; zero if they are not restored.
    pub cc_message_timer: Time,
    /// Bytes on the link that a frame takes for the update that it carries; `None` if frames carry no updates.
    pub piggyback: Option<u16>,
}

impl CreditSpec {
    /// Returns the credits that a frame of `bytes` consumes.
    #[inline]
    pub fn need(&self, bytes: u32) -> u32 {
        let taken = bytes + self.per_frame;
        if self.unit == 64 { taken.div_ceil(64) } else { taken.div_ceil(self.unit) }
    }
    /// Returns true if frames of a priority consume credits.
    #[inline]
    pub fn covers(&self, priority: Priority) -> bool {
        self.priorities >> (priority.0 & 31) & 1 != 0
    }
    /// Returns the credits that a frame consumes, 0 if its priority has no credits.
    #[inline]
    pub fn need_of(&self, frame: &Frame) -> u32 {
        if self.covers(frame.priority()) { self.need(u32::from(frame.bytes)) } else { 0 }
    }
    /// Returns the channel of a priority.
    #[inline]
    pub fn channel(&self, priority: Priority) -> usize {
        self.channels.class(priority).at()
    }
    /// Returns true if the channel of a priority has a bypass queue.
    #[inline]
    pub fn has_bypass(&self, priority: Priority) -> bool {
        self.bypassable >> self.channel(priority) & 1 != 0
    }
    /// Returns the index of the count from which a frame consumes credits: that of its channel or of the channel's
    /// bypass queue.
    #[inline]
    pub fn count_of(&self, frame: &Frame) -> usize {
        let channel = self.channel(frame.priority());
        let bypass = frame.flags.is_bypassable() && self.has_bypass(frame.priority());
        if bypass { channel + BANK } else { count_of_channel(channel) }
    }
    /// Returns the name of a count.
    pub fn count_name(&self, count: usize) -> String {
        let name = self.names.name(channel_of_count(count));
        if is_bypass(count) { format!("{name} (bypass)") } else { name }
    }
    /// Returns true if these credits at one end of a link are compatible with `other` at the other end: both use the
    /// same unit.
    pub fn fits(&self, other: &CreditSpec) -> bool {
        (self.unit, self.per_frame, &self.names) == (other.unit, other.per_frame, &other.names)
            && (self.channels, self.priorities) == (other.channels, other.priorities)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> CreditSpec {
        CreditSettings::default().spec()
    }

    #[test]
    fn golden_vector_13() {
        assert_eq!([64, 65, 128, 2176].map(|bytes| spec().need(bytes)), [1, 2, 2, 34]);
        let cbfc = CreditSettings {
            unit: Some(Bytes::new(256)),
            per_frame: Some(Bytes::new(8)),
            ..CreditSettings::default()
        };
        assert_eq!([248, 249, 2176].map(|bytes| cbfc.spec().need(bytes)), [1, 2, 9]);
    }

    #[test]
    fn the_preset_of_ultra_ethernet() {
        let keys = CreditSettings { preset: Some(CreditPreset::Cbfc), ..CreditSettings::default() };
        let cbfc = keys.spec();
        assert_eq!([248, 249, 2176].map(|bytes| cbfc.need(bytes)), [1, 2, 9]);
        assert_eq!((cbfc.credits, cbfc.update_after, cbfc.update_bytes), (256, 1, 8));
        assert_eq!((cbfc.cf_min_spacing, cbfc.cf_max_spacing), (6400, 262_144));
        assert_eq!(cbfc.cc_message_timer, Time::from_us(256));
        let own = CreditSettings { cf_min_spacing: Some(Bytes::new(799)), ..keys.clone() };
        assert!(own.check().unwrap_err().message.contains("cf_min_spacing is 799 B"));
        let own = CreditSettings { cf_max_spacing: Some(Bytes::new(6000)), ..keys.clone() };
        assert!(own.check().unwrap_err().message.contains("cf_max_spacing"));
        let own = CreditSettings { cc_message_timer: Some(Time::from_ns(999)), ..keys };
        assert!(own.check().unwrap_err().message.contains("cc_message_timer is 999 ns"));
    }

    #[test]
    fn updates_keep_their_distance_and_a_lost_one_is_sent_again() {
        let (mut receiver, spec) = (Receiver::new(136).spaced(Time::from_us(2)), spec());
        receiver.arrive(0, 60).unwrap();
        let us = Time::from_us;
        assert_eq!(receiver.free(&spec, 0, 20, us(5)), us(5));
        let first = receiver.update(us(5));
        assert_eq!(receiver.free(&spec, 0, 20, us(6)), us(7));
        assert_eq!(receiver.update(us(7)).counts[0], 40);
        assert!(!receiver.owes());
        receiver.lost(first);
        assert!(receiver.owes());
        assert_eq!(receiver.update(us(9)).counts[0], 40, "an update carries every freed credit");
    }

    #[test]
    fn credits_go_and_come_back_channel_by_channel() {
        let (mut sender, mut receiver, spec) = (Sender::new(136), Receiver::new(136), spec());
        for _ in 0..4 {
            sender.take(3, 34).unwrap();
            receiver.arrive(3, 34).unwrap();
        }
        assert_eq!((sender.available(3), sender.available(2)), (0, 136));
        assert_eq!(sender.take(3, 1), Err(Overdraft { channel: 3, wanted: 1, had: 0 }));
        assert_eq!(receiver.arrive(3, 1), Err(Overdraft { channel: 3, wanted: 1, had: 0 }));
        assert!(!receiver.owes());
        let us = Time::from_us;
        assert_eq!(receiver.free(&spec, 3, 34, us(5)), us(5));
        assert_eq!((receiver.holds(3, &sender), sender.outstanding(3)), (136, 136));
        sender.on_update(receiver.update(us(5))).unwrap();
        assert!(!receiver.owes());
        assert_eq!((sender.available(3), receiver.holds(3, &sender)), (34, 102));
    }

    #[test]
    fn little_is_told_later_and_no_two_updates_at_once() {
        let (mut receiver, spec) = (Receiver::new(136), spec());
        receiver.arrive(0, 40).unwrap();
        let (now, later) = (Time::from_us(3), Time::from_us(4));
        // 16 credits of 64 B are less than 1088 B; 17 credits are exactly 1088 B.
        assert_eq!(receiver.free(&spec, 0, 16, now), later);
        assert_eq!(receiver.free(&spec, 0, 1, now), now);
        receiver.update(now);
        assert_eq!(receiver.free(&spec, 0, 17, now), now + Time::from_ps(1));
        assert_eq!(receiver.free(&spec, 0, 1, now), now + Time::from_ps(1), "the owed update is due at once");
    }

    #[test]
    fn an_update_makes_up_for_one_that_is_lost_and_counts_wrap() {
        let (mut sender, mut receiver, spec) = (Sender::new(16_384), Receiver::new(16_384), spec());
        for round in 0..10 {
            sender.take(7, 16_384).unwrap();
            receiver.arrive(7, 16_384).unwrap();
            receiver.free(&spec, 7, 10_000, Time::from_us(round));
            let _lost = receiver.update(Time::from_us(round));
            receiver.free(&spec, 7, 6_384, Time::from_us(round));
            sender.on_update(receiver.update(Time::from_us(round))).unwrap();
            assert_eq!((sender.available(7), receiver.holds(7, &sender)), (16_384, 0));
        }
        let mut update = receiver.update(Time::from_us(99));
        update.bank = 0;
        update.counts = [0; BANK];
        update.counts[7] = (163_840 % (1u64 << 15)) as u16 + 1;
        assert_eq!(sender.on_update(update), Err(Overdraft { channel: 7, wanted: 1, had: 0 }));
    }

    #[test]
    fn a_bypass_queue_has_credits_and_updates_of_its_own() {
        let bypass = 3 + BANK;
        let (mut sender, mut receiver, spec) = (Sender::new(136), Receiver::new(136), spec());
        for count in [3, bypass] {
            sender.take(count, 100).unwrap();
            receiver.arrive(count, 100).unwrap();
        }
        receiver.free(&spec, 3, 100, Time::from_us(1));
        receiver.free(&spec, bypass, 60, Time::from_us(1));
        let first = receiver.update(Time::from_us(1));
        assert!(first.bank == 0 && receiver.owes());
        sender.on_update(first).unwrap();
        assert_eq!((sender.available(3), sender.available(bypass)), (136, 36));
        let second = receiver.update(Time::from_us(1) + Time::from_ps(1));
        assert!(second.bank == 1 && !receiver.owes());
        sender.on_update(second).unwrap();
        assert_eq!((sender.available(bypass), receiver.holds(bypass, &sender)), (96, 40));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let with = |change: fn(&mut Values)| {
            let mut values = CreditSettings::default().values();
            change(&mut values);
            values.check().unwrap_err().message
        };
        assert_eq!(CreditSettings::default().check(), Ok(()));
        assert!(with(|it| it.unit = Bytes::new(0)).contains("unit is 0 B"));
        assert!(with(|it| it.buffer = Bytes::new(63)).contains("0 credits"));
        assert!(with(|it| it.buffer = Bytes::new(100)).contains("not a whole number"));
        assert!(with(|it| it.buffer = Bytes::new(64 * 16_385)).contains("16385 credits"));
        assert!(with(|it| it.channels = ChannelList::Each(vec![0.into(); 7])).contains("7 channels"));
        assert!(
            with(|it| it.channels = ChannelList::Each(
                vec![0.into(), 0.into(), 8.into()].into_iter().chain(vec![0.into(); 5]).collect()
            ))
            .contains("channel 8")
        );
        assert!(with(|it| it.update_after = Bytes::new(9000)).contains("update_after"));
        assert!(with(|it| it.update_delay = Time::from_ms(1001)).contains("update_delay"));
    }
}
