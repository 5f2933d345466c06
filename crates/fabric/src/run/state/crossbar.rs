//! Crossbars: from the input of a frame to the queue of its egress port.
//!
//! An arriving frame waits at its input until it is matched with its output (`queueing::Arbiter`). It then crosses, and
//! enters the queue of its egress port as in a switch without a crossbar, but without an ingress port, because its
//! ingress counter was released when it started to cross. A cut-through switch passes the frame to the output when it
//! starts to cross, as its latency includes the path of the head; input and output are busy until the whole frame has
//! arrived and crossed.
//!
//! A match is scheduled only when it may find a pair: when input and output of a frame are free or become free, or when
//! an output has space again. Input and output store the end of a crossing as a time. The end is an event only if a
//! frame waits for one of them, or enters its queue at that time.
//!
//! Pauses that count by ingress port count a frame until it starts to cross. Pauses that count by queue (including
//! those with targets) and buffer limits count it from its arrival until it leaves the switch: the occupancy of an
//! egress queue includes the frames that wait for it at inputs or cross. Queue managers, outages and watchdogs act on a
//! frame at its output.
//!
//! The space of an output counts crossing and queued frames. Frames that the switch itself originates, and frames that
//! go to the link immediately, take space like all others.
//!
//! A class with a bypass queue (`flow_control::channels`) has two *lanes*, ordered and bypass, each with its own lists
//! at the inputs and space at the outputs. A bypassable frame at the head of an ordered list moves to the bypass list.
//! The head of the bypass list crosses before that of the ordered list if it has space; otherwise it is passed.

pub(crate) mod crossing_time;
pub(crate) mod crossings;
pub(crate) mod through;
pub(crate) mod waiting;

use crate::run::state::architecture::{Architecture, NodeMemory};
use crate::run::state::crossbar::crossing_time::{crossing_time, whole_ps_per_byte};
use crate::run::state::index::PortIx;
use crate::run::state::pool::{List, Pool, Waiting};
use engine::Timer;
use frame::{Frame, Occupancy, TrafficClass, members};
use measure::{LatencyByBatches, Sojourns};
use queueing::{Arbiter, CrossbarKeys, Crossing, Inputs, Ports, Requests, Room, ports_of};
use units::{BitRate, Time};

/// The crossbar of a switch, and the frames that wait at its inputs.
#[derive(Debug)]
pub(crate) struct Crossbar {
    /// Occupancy counters of the frames queued at outputs.
    pub memory: NodeMemory,
    pub(in crate::run) keys: CrossbarKeys,
    pub(in crate::run) ports: usize,
    pub(in crate::run) classes: usize,
    /// The classes that have bypass queues, bit n for class n. `lanes` is the number of lanes: the classes, followed by
    /// one bypass lane for each of these.
    pub(in crate::run) bypasses: u32,
    pub(in crate::run) lanes: usize,
    pub(in crate::run) first_port: PortIx,
    /// True if a frame enters its output queue when it begins to cross.
    pub(in crate::run) cuts_through: bool,
    /// Rate of the fastest link of the switch.
    rate: BitRate,
    /// Time of a byte at that rate in picoseconds, if it is an integer; otherwise 0.
    whole_ps: u64,
    /// Length of the longest frame of the fabric. `roomy_up_to` is the maximum occupancy of a class of an output at
    /// which such a frame still fits.
    pub(in crate::run) longest: u64,
    roomy_up_to: u64,
    pub(in crate::run) arbiter: Arbiter,
    /// Lists by input, output and lane; with FIFO inputs by input and lane.
    pub(in crate::run) lists: Vec<List>,
    /// By output and input, the lanes with a frame ready to cross.
    requested: Vec<u32>,
    /// The outputs with at least one request.
    requested_outputs: Ports,
    /// By output and lane, bytes that cross or are queued.
    pub(in crate::run) held: Vec<u64>,
    /// By output and class, the frames that have arrived for it and not yet left; empty if nothing measures them.
    pub(in crate::run) through: Vec<Occupancy>,
    pub(in crate::run) outputs: Vec<Output>,
    pub inputs: Vec<Input>,
    /// Timer of the next match.
    pub(in crate::run) matching: Timer,
    /// True if the last match omitted a possible pair, which the next event may match.
    pub(in crate::run) left_over: bool,
    pub(in crate::run) requests: Requests,
    pub(in crate::run) matches: Vec<Crossing>,
}

/// An output.
#[derive(Clone, Debug)]
pub(in crate::run) struct Output {
    /// End of the current crossing. `from` is its input.
    pub(in crate::run) busy_until: Time,
    pub(in crate::run) from: usize,
    /// True if an event is scheduled for the end of the crossing.
    pub(in crate::run) noticed: bool,
    /// The inputs that have a frame for this output.
    requested_by: Ports,
    /// The lanes that have space for the longest frame; all lanes if each frame is checked.
    pub(in crate::run) roomy: u32,
    /// The crossing frame, until it is passed on.
    pub(in crate::run) underway: Option<(Frame, TrafficClass)>,
}

impl Output {
    const EMPTY: Output = Output {
        busy_until: Time::ZERO,
        from: 0,
        noticed: false,
        requested_by: 0,
        roomy: u32::MAX,
        underway: None,
    };
}

/// An input, with counts of the frames that have waited at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    /// End of the current crossing. `to` is its output.
    pub(in crate::run) busy_until: Time,
    pub(in crate::run) to: usize,
    /// The outputs for which it has a frame.
    requested: Ports,
    pub occupancy: Occupancy,
    pub sojourns: Sojourns,
    /// Waiting times of frames that did not cross immediately.
    pub waits: LatencyByBatches,
    pub frames: u64,
}

impl Input {
    /// Counts an arriving frame.
    #[inline]
    pub(in crate::run) fn enter(&mut self, bytes: u16) {
        self.occupancy.add(bytes);
        self.sojourns.enter(self.occupancy.both());
    }
    /// Counts a frame that starts to cross on arrival.
    #[inline]
    pub(in crate::run) fn pass(&mut self, bytes: u16) {
        let mut with_it = self.occupancy;
        with_it.add(bytes);
        self.sojourns.enter(with_it.both());
        self.frames += 1;
    }
    /// Counts a frame that starts to cross after this wait.
    #[inline]
    pub(in crate::run) fn leave(&mut self, bytes: u16, waited: Time) {
        self.occupancy.remove(bytes);
        self.sojourns.leave(bytes, waited);
        // A frame that crosses at its arrival time may have waited for the order of events or not; both count as zero.
        if waited > Time::ZERO {
            self.waits.record(waited);
        }
        self.frames += 1;
    }
}

/// Facts about a switch for its crossbar.
pub(crate) struct SwitchFacts {
    pub ports: usize,
    pub classes: usize,
    /// Classes that have bypass queues, bit n for class n.
    pub bypasses: u32,
    pub first_port: PortIx,
    pub cuts_through: bool,
    pub rate: BitRate,
    pub longest: u64,
    /// True if limits, pauses or queue managers measure the frames that have arrived for an output.
    pub counts_for_outputs: bool,
}

impl Crossbar {
    /// Creates an empty crossbar.
    pub fn new(keys: CrossbarKeys, switch: &SwitchFacts, memory: NodeMemory) -> Crossbar {
        let SwitchFacts { ports, classes, bypasses, first_port, cuts_through, rate, longest, .. } = *switch;
        let lanes = classes + bypasses.count_ones() as usize;
        let queues = match keys.inputs {
            Inputs::VirtualOutput => ports,
            Inputs::Fifo => 1,
        };
        Crossbar {
            memory,
            ports,
            classes,
            bypasses,
            lanes,
            first_port,
            cuts_through,
            rate,
            whole_ps: whole_ps_per_byte(rate),
            longest,
            roomy_up_to: match keys.room {
                Room::Longest => keys.output_buffer.get().saturating_sub(longest),
                Room::Frame => u64::MAX,
            },
            arbiter: Arbiter::new(&keys, ports),
            lists: vec![List::EMPTY; ports * queues * lanes],
            requested: vec![0; ports * ports],
            requested_outputs: 0,
            held: vec![0; ports * lanes],
            through: vec![Occupancy::default(); if switch.counts_for_outputs { ports * classes } else { 0 }],
            outputs: vec![Output::EMPTY; ports],
            inputs: vec![Input::default(); ports],
            matching: Timer::IDLE,
            left_over: false,
            requests: Requests::new(ports),
            matches: Vec::new(),
            keys,
        }
    }

    /// Returns the index of a port within its switch; `port` is the inverse.
    #[inline(always)]
    pub(in crate::run) fn nth(&self, port: PortIx) -> usize {
        port.since(self.first_port) as usize
    }
    #[inline(always)]
    pub(in crate::run) fn port(&self, nth: usize) -> PortIx {
        self.first_port.plus(nth as u32)
    }

    /// Returns the output of a frame that waits at an input.
    #[inline(always)]
    pub(in crate::run) fn output_of(&self, waiting: &Waiting) -> usize {
        self.nth(waiting.across.expect("a frame at an input has an egress port"))
    }

    pub(in crate::run) fn list(&self, input: usize, output: usize, lane: usize) -> usize {
        match self.keys.inputs {
            Inputs::VirtualOutput => (input * self.ports + output) * self.lanes + lane,
            Inputs::Fifo => input * self.lanes + lane,
        }
    }

    /// The lane in which a frame crosses and occupies space.
    #[inline]
    pub(in crate::run) fn lane(&self, class: TrafficClass, frame: &Frame) -> usize {
        let has_bypass = self.bypasses >> class.0 & 1 != 0;
        if has_bypass && frame.flags.is_bypassable() { self.bypass_lane(class.at()) } else { class.at() }
    }
    fn bypass_lane(&self, class: usize) -> usize {
        self.classes + (self.bypasses & ((1 << class) - 1)).count_ones() as usize
    }
    #[inline]
    pub(in crate::run) fn class_at(&self, lane: usize) -> TrafficClass {
        TrafficClass(if lane < self.classes { lane } else { self.class_of_bypass(lane) } as u8)
    }
    #[inline(never)]
    fn class_of_bypass(&self, lane: usize) -> usize {
        members(self.bypasses).nth(lane - self.classes).expect("each lane belongs to a class")
    }
    /// The lanes of a class.
    fn lanes_of(&self, class: TrafficClass) -> impl Iterator<Item = usize> {
        let has_bypass = self.bypasses >> class.0 & 1 != 0;
        std::iter::once(class.at()).chain(has_bypass.then(|| self.bypass_lane(class.at())))
    }

    /// Marks that the next frame of a lane is ready to cross from an input to an output.
    #[inline]
    pub(in crate::run) fn add_request(&mut self, input: usize, output: usize, lane: u8) {
        self.requested[output * self.ports + input] |= 1 << lane;
        self.outputs[output].requested_by |= 1 << input;
        self.inputs[input].requested |= 1 << output;
        self.requested_outputs |= 1 << output;
    }

    /// Withdraws the request of a lane at an input for an output.
    pub(in crate::run) fn withdraw(&mut self, input: usize, output: usize, lane: u8) {
        let requested = &mut self.requested[output * self.ports + input];
        *requested &= !(1 << lane);
        if *requested == 0 {
            self.inputs[input].requested &= !(1 << output);
            let requested_by = &mut self.outputs[output].requested_by;
            *requested_by &= !(1 << input);
            if *requested_by == 0 {
                self.requested_outputs &= !(1 << output);
            }
        }
    }

    /// Returns the time until which the input or the output is busy, whichever is later.
    #[inline]
    pub(in crate::run) fn busy_until(&self, input: usize, output: usize) -> Time {
        self.inputs[input].busy_until.max(self.outputs[output].busy_until)
    }

    /// Returns the output of the later of the two crossings that occupy an input and an output.
    pub(in crate::run) fn busy_longer(&self, input: usize, output: usize) -> usize {
        let Input { busy_until, to, .. } = self.inputs[input];
        if busy_until > self.outputs[output].busy_until { to } else { output }
    }

    /// Returns true if an arriving frame can cross at once and no other frame has precedence.
    #[inline]
    pub(in crate::run) fn crosses_at_once(
        &self,
        input: usize,
        output: usize,
        lane: usize,
        bytes: u16,
        now: Time,
    ) -> bool {
        let held = self.held[output * self.lanes + lane];
        self.busy_until(input, output) <= now
            && !self.left_over
            && self.outputs[output].roomy >> lane & 1 != 0
            && held + u64::from(bytes) <= self.keys.output_buffer.get()
    }

    /// Returns true if a free input has a frame for an output.
    #[inline]
    pub(in crate::run) fn is_requested(&self, output: usize, now: Time) -> bool {
        ports_of(self.outputs[output].requested_by).any(|input| self.inputs[input].busy_until <= now)
    }

    /// Returns true if a frame waits for this input or output, so that the end of their crossing needs an event.
    #[inline]
    pub(in crate::run) fn is_awaited(&self, input: usize, output: usize) -> bool {
        self.inputs[input].requested | self.outputs[output].requested_by != 0 || self.left_over
    }

    /// Counts bytes that cross to an output in a lane.
    #[inline]
    pub(in crate::run) fn hold(&mut self, output: usize, lane: usize, bytes: u16) {
        let held = &mut self.held[output * self.lanes + lane];
        *held += u64::from(bytes);
        if *held > self.roomy_up_to {
            self.outputs[output].roomy &= !(1 << lane);
        }
    }

    /// Counts bytes that have left an output. Returns true if it has space for another frame again.
    #[inline]
    pub(in crate::run) fn let_go(&mut self, output: usize, lane: usize, bytes: u16) -> bool {
        let held = &mut self.held[output * self.lanes + lane];
        let (before, left) = (*held, held.checked_sub(u64::from(bytes)));
        *held = left.expect("an output holds what leaves it: this is a bug in the simulator");
        let has_room_again = before > self.roomy_up_to && *held <= self.roomy_up_to;
        if has_room_again {
            self.outputs[output].roomy |= 1 << lane;
        }
        has_room_again || self.keys.room == Room::Frame
    }

    /// Collects the requests: the frames that may cross.
    pub(in crate::run) fn request(&mut self, pool: &Pool, now: Time) {
        self.requests.clear();
        ports_of(self.requested_outputs).for_each(|output| {
            let Output { busy_until, requested_by, roomy, .. } = self.outputs[output];
            if busy_until > now {
                return;
            }
            let mut inputs = 0;
            ports_of(requested_by).for_each(|input| {
                if self.inputs[input].busy_until > now {
                    return;
                }
                let mut may = self.requested[output * self.ports + input] & roomy;
                if self.keys.room == Room::Frame {
                    may = self.that_fit(may, input, output, pool);
                }
                if may >> self.classes != 0 {
                    may = self.bypassed_first(may);
                }
                if may != 0 {
                    self.requests.allow(input, output, may);
                    inputs |= 1 << input;
                }
            });
            self.requests.add(inputs, output);
        });
    }

    /// Ends the crossing to an output. Returns the frame to pass on, and true if another frame waits for the end.
    pub(in crate::run) fn ended(&mut self, output: usize) -> (Option<(Frame, TrafficClass)>, bool) {
        let state = &mut self.outputs[output];
        state.noticed = false;
        let (frame, from) = (state.underway.take(), state.from);
        (frame, self.is_awaited(from, output))
    }

    /// Returns the lanes among these whose next frame fits into the buffer of the output.
    fn that_fit(&self, mut lanes: u32, input: usize, output: usize, pool: &Pool) -> u32 {
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let needs = u64::from(pool.head(&self.lists[self.list(input, output, lane)]).bytes);
            if self.held[output * self.lanes + lane] + needs > self.keys.output_buffer.get() {
                lanes &= !(1 << lane);
            }
        }
        lanes
    }

    /// Removes the ordered lanes whose bypass lane is included: nothing overtakes a bypassed frame that has space.
    #[inline(never)]
    fn bypassed_first(&self, lanes: u32) -> u32 {
        let bypassed = members(lanes >> self.classes << self.classes);
        bypassed.fold(lanes, |left, lane| left & !(1 << self.class_of_bypass(lane)))
    }

    /// Moves bypassable frames from the head of the ordered list of an input to the bypass list, after a frame has left
    /// the former. Returns the output of the first moved frame, if the bypass list was empty before.
    #[inline(never)]
    pub(in crate::run) fn move_bypassable(
        &mut self,
        input: usize,
        output: usize,
        class: usize,
        pool: &mut Pool,
    ) -> Option<usize> {
        let lane = self.bypass_lane(class);
        let [ordered, bypass] = [class, lane].map(|lane| self.list(input, output, lane));
        let Ok([ordered, bypass]) = self.lists.get_disjoint_mut([ordered, bypass]) else { return None };
        let was_empty = bypass.is_empty();
        while !ordered.is_empty() && pool.head(ordered).flags.is_bypassable() {
            pool.move_first(ordered, bypass);
        }
        if !was_empty || bypass.is_empty() {
            return None;
        }
        let output = pool.first(bypass).across;
        let output = output.map(|port| self.nth(port))?;
        self.add_request(input, output, lane as u8);
        Some(output)
    }

    /// Sets the rate of the fastest link of the switch, which determines the time of later crossings.
    pub fn on_link_rate(&mut self, fastest: BitRate) {
        (self.rate, self.whole_ps) = (fastest, whole_ps_per_byte(fastest));
    }

    /// Returns the crossing time of a frame.
    pub(in crate::run) fn takes(&self, bytes: u16) -> Time {
        crossing_time(self.whole_ps, self.rate, self.keys.speedup, bytes)
    }

    /// Restarts measurement at `now`: levels are kept, counts are reset.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        let each = self.lists.len() / self.ports;
        for (input, lists) in self.inputs.iter_mut().zip(self.lists.chunks(each)) {
            let inside: Vec<_> = of(pool, lists).collect();
            input.sojourns.restart(now, input.occupancy.both(), inside.into_iter());
            input.waits.clear();
            input.frames = 0;
        }
    }

    /// Returns the lists of frames that wait at its inputs.
    pub fn lists(&self) -> &[List] {
        &self.lists
    }

    /// Frames that are crossing and not stored elsewhere.
    pub fn frames_underway(&self) -> impl Iterator<Item = &Frame> {
        self.outputs.iter().filter_map(|output| output.underway.as_ref()).map(|(frame, _)| frame)
    }

    /// Frames that wait at inputs.
    pub fn frames_waiting(&self) -> u64 {
        self.inputs.iter().map(|input| input.occupancy.frames).sum()
    }

    /// Frames that wait at inputs or are crossing.
    pub fn frames_inside(&self) -> u64 {
        self.frames_waiting() + self.frames_underway().count() as u64
    }

    /// Bytes of its tables and histograms.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Crossbar>()
            + self.arbiter.memory_bytes()
            + self.lists.capacity() * size_of::<List>()
            + self.requested.capacity() * size_of::<u32>()
            + self.requests.memory_bytes()
            + self.outputs.capacity() * size_of::<Output>()
            + self.held.capacity() * size_of::<u64>()
            + self.inputs.capacity() * size_of::<Input>()
            + self.inputs.iter().map(|input| input.waits.memory_bytes()).sum::<usize>()
    }
}

/// Returns the start of the wait and the length of each frame in these lists.
fn of<'a>(pool: &'a Pool, lists: &'a [List]) -> impl Iterator<Item = (Time, u16)> + 'a {
    lists.iter().flat_map(|list| pool.iter(list)).map(|waiting| (waiting.since, waiting.frame.bytes))
}

impl Architecture {
    /// The crossbar, if it has one.
    pub fn crossbar(&self) -> Option<&Crossbar> {
        match self {
            Architecture::OutputQueued(_) => None,
            Architecture::Crossbar(bar) => Some(bar),
        }
    }
    #[inline(always)]
    pub fn crossbar_mut(&mut self) -> Option<&mut Crossbar> {
        match self {
            Architecture::OutputQueued(_) => None,
            Architecture::Crossbar(bar) => Some(bar),
        }
    }
}
