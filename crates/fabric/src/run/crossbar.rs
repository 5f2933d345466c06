//! Crossbars at work: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It
//! then crosses; when it has crossed it comes to the queue of its egress port as in a switch without a crossbar, as if it
//! began its way there: what counts where frames came in from has let go of it when it began to cross. A cut-through
//! switch hands it over when it begins to cross, as its latency contains the way of the head; input and output are busy
//! until all of it has come and crossed.
//!
//! A match is due only when it may find something: a frame wants to cross whose input and output are free, or become free,
//! or an output has room again. The end of a crossing is a time that input and output know, and an event only where a frame
//! waits for one of them, or is handed over then.
//!
//! Pauses count a frame where it came in until it begins to cross; queue managers, outages and watchdogs meet it at its output.
//!
//! The room of an output counts what crosses and what waits there. A frame that the switch itself sends, or that goes to
//! the link at once, takes room as all others.

mod crossings;
mod waiting;

use crate::run::architecture::{Architecture, NodeMemory};
use crate::run::pool::{List, Pool};
use engine::Timer;
use frame::{Frame, Occupancy, TrafficClass};
use measure::{Latency, Sojourns};
use queueing::{Arbiter, CrossbarKeys, Crossing, Inputs, Ports, Requests, Room, ports_of};
use units::{BitRate, Time};

/// The crossbar of a switch, and what waits at its inputs.
#[derive(Debug)]
pub(crate) struct Crossbar {
    /// What is counted of what waits at outputs.
    pub memory: NodeMemory,
    keys: CrossbarKeys,
    ports: usize,
    classes: usize,
    first_port: u32,
    /// Whether a frame is handed over when it begins to cross.
    cuts_through: bool,
    /// The rate of the fastest link of the switch.
    rate: BitRate,
    /// The longest frame of the fabric, and the most that a class of an output may hold and have room for it.
    longest: u64,
    roomy_up_to: u64,
    arbiter: Arbiter,
    /// By input, output and class; with FIFO inputs by input and class.
    lists: Vec<List>,
    /// By output and input, the classes whose next frame wants to cross.
    wants: Vec<u32>,
    /// The outputs that any frame wants to cross to.
    wanted: Ports,
    /// By output and class, bytes that cross or wait there.
    held: Vec<u64>,
    outputs: Vec<Output>,
    pub inputs: Vec<Input>,
    /// The next match.
    matching: Timer,
    /// The last one has left out a pair that could have been matched: the next thing that happens may find it.
    left_over: bool,
    requests: Requests,
    matches: Vec<Crossing>,
}

/// An output.
#[derive(Clone, Debug)]
struct Output {
    /// Until when something crosses to it, and from which input.
    busy_until: Time,
    from: usize,
    /// Whether the end of that is an event.
    noticed: bool,
    /// The inputs that have a frame for it.
    wanted_by: Ports,
    /// The classes that have room for the longest frame, all if each frame is looked at.
    roomy: u32,
    /// What crosses, unless it has been handed over already.
    underway: Option<(Frame, TrafficClass)>,
}

impl Output {
    const EMPTY: Output = Output {
        busy_until: Time::ZERO,
        from: 0,
        noticed: false,
        wanted_by: 0,
        roomy: u32::MAX,
        underway: None,
    };
}

/// An input, and what has waited at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    /// Until when it sends, and to which output.
    busy_until: Time,
    to: usize,
    /// The outputs that it has a frame for.
    wants: Ports,
    pub occupancy: Occupancy,
    pub sojourns: Sojourns,
    pub waits: Latency,
    pub frames: u64,
}

impl Input {
    /// A frame comes.
    #[inline]
    fn enter(&mut self, bytes: u16) {
        self.occupancy.add(bytes);
        self.sojourns.enter(self.occupancy.both());
    }
    /// A frame begins to cross as soon as it comes.
    #[inline]
    fn pass(&mut self, bytes: u16) {
        let mut with_it = self.occupancy;
        with_it.add(bytes);
        self.sojourns.enter(with_it.both());
        self.waits.record(Time::ZERO);
        self.frames += 1;
    }
    /// A frame that has waited so long begins to cross.
    #[inline]
    fn leave(&mut self, bytes: u16, waited: Time) {
        self.occupancy.remove(bytes);
        self.sojourns.leave(bytes, waited);
        self.waits.record(waited);
        self.frames += 1;
    }
}

/// What a crossbar has to know of its switch.
pub(crate) struct SwitchFacts {
    pub ports: usize,
    pub classes: usize,
    pub first_port: u32,
    pub cuts_through: bool,
    pub rate: BitRate,
    pub longest: u64,
}

impl Crossbar {
    /// Nothing waits.
    pub fn new(keys: CrossbarKeys, switch: &SwitchFacts, memory: NodeMemory) -> Crossbar {
        let SwitchFacts { ports, classes, first_port, cuts_through, rate, longest } = *switch;
        let queues = match keys.inputs {
            Inputs::VirtualOutput => ports,
            Inputs::Fifo => 1,
        };
        Crossbar {
            memory,
            ports,
            classes,
            first_port,
            cuts_through,
            rate,
            longest,
            roomy_up_to: match keys.room {
                Room::Longest => keys.output_buffer.get().saturating_sub(longest),
                Room::Frame => u64::MAX,
            },
            arbiter: Arbiter::new(&keys, ports),
            lists: vec![List::EMPTY; ports * queues * classes],
            wants: vec![0; ports * ports],
            wanted: 0,
            held: vec![0; ports * classes],
            outputs: vec![Output::EMPTY; ports],
            inputs: vec![Input::default(); ports],
            matching: Timer::IDLE,
            left_over: false,
            requests: Requests::new(ports),
            matches: Vec::new(),
            keys,
        }
    }

    fn list(&self, input: usize, output: usize, class: usize) -> usize {
        match self.keys.inputs {
            Inputs::VirtualOutput => (input * self.ports + output) * self.classes + class,
            Inputs::Fifo => input * self.classes + class,
        }
    }

    /// The next frame of a class of an input wants to cross to an output.
    #[inline]
    fn want(&mut self, input: usize, output: usize, class: u8) {
        self.wants[output * self.ports + input] |= 1 << class;
        self.outputs[output].wanted_by |= 1 << input;
        self.inputs[input].wants |= 1 << output;
        self.wanted |= 1 << output;
    }

    /// It crosses.
    fn want_no_more(&mut self, input: usize, output: usize, class: u8) {
        let wants = &mut self.wants[output * self.ports + input];
        *wants &= !(1 << class);
        if *wants == 0 {
            self.inputs[input].wants &= !(1 << output);
            let wanted_by = &mut self.outputs[output].wanted_by;
            *wanted_by &= !(1 << input);
            if *wanted_by == 0 {
                self.wanted &= !(1 << output);
            }
        }
    }

    /// Until when one of an input and an output, or both, are busy.
    #[inline]
    fn busy_until(&self, input: usize, output: usize) -> Time {
        self.inputs[input].busy_until.max(self.outputs[output].busy_until)
    }

    /// The output of what keeps an input or an output busy for longer.
    fn busy_longer(&self, input: usize, output: usize) -> usize {
        let Input { busy_until, to, .. } = self.inputs[input];
        if busy_until > self.outputs[output].busy_until { to } else { output }
    }

    /// Whether a frame that comes can cross, and no other could before it.
    #[inline]
    fn crosses_at_once(
        &self,
        input: usize,
        output: usize,
        class: TrafficClass,
        bytes: u16,
        now: Time,
    ) -> bool {
        let held = self.held[output * self.classes + class.at()];
        self.busy_until(input, output) <= now
            && !self.left_over
            && self.outputs[output].roomy >> class.0 & 1 != 0
            && held + u64::from(bytes) <= self.keys.output_buffer.get()
    }

    /// Whether a free input has a frame for an output.
    #[inline]
    fn is_wanted(&self, output: usize, now: Time) -> bool {
        ports_of(self.outputs[output].wanted_by).any(|input| self.inputs[input].busy_until <= now)
    }

    /// Whether a frame waits for an input or an output: the end of what they do has to be noticed.
    #[inline]
    fn is_awaited(&self, input: usize, output: usize) -> bool {
        self.inputs[input].wants | self.outputs[output].wanted_by != 0 || self.left_over
    }

    /// So many bytes are on their way to a class of an output.
    #[inline]
    fn hold(&mut self, output: usize, class: usize, bytes: u16) {
        let held = &mut self.held[output * self.classes + class];
        *held += u64::from(bytes);
        if *held > self.roomy_up_to {
            self.outputs[output].roomy &= !(1 << class);
        }
    }

    /// They have left it; true: there is room for more.
    #[inline]
    fn let_go(&mut self, output: usize, class: usize, bytes: u16) -> bool {
        let held = &mut self.held[output * self.classes + class];
        let (before, left) = (*held, held.checked_sub(u64::from(bytes)));
        *held = left.expect("an output holds what leaves it: this is a fault of the simulator");
        let has_room_again = before > self.roomy_up_to && *held <= self.roomy_up_to;
        if has_room_again {
            self.outputs[output].roomy |= 1 << class;
        }
        has_room_again || self.keys.room == Room::Frame
    }

    /// Writes down which frames may cross.
    fn request(&mut self, pool: &Pool, now: Time) {
        self.requests.clear();
        for output in ports_of(self.wanted) {
            let Output { busy_until, wanted_by, roomy, .. } = self.outputs[output];
            if busy_until > now {
                continue;
            }
            for input in ports_of(wanted_by) {
                if self.inputs[input].busy_until > now {
                    continue;
                }
                let mut may = self.wants[output * self.ports + input] & roomy;
                if self.keys.room == Room::Frame {
                    may = self.that_fit(may, input, output, pool);
                }
                if may != 0 {
                    self.requests.add(input, output, may);
                }
            }
        }
    }

    /// What crosses to an output is over: what has to be handed over, and whether a frame has waited for that.
    fn ended(&mut self, output: usize) -> (Option<(Frame, TrafficClass)>, bool) {
        let state = &mut self.outputs[output];
        state.noticed = false;
        let (frame, from) = (state.underway.take(), state.from);
        (frame, self.is_awaited(from, output))
    }

    /// Those of these classes whose next frame fits into the buffer of the output.
    fn that_fit(&self, mut classes: u32, input: usize, output: usize, pool: &Pool) -> u32 {
        let mut left = classes;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            let needs = u64::from(pool.head(&self.lists[self.list(input, output, class)]).bytes);
            if self.held[output * self.classes + class] + needs > self.keys.output_buffer.get() {
                classes &= !(1 << class);
            }
        }
        classes
    }

    /// How long a frame takes to cross.
    fn takes(&self, bytes: u16) -> Time {
        // At most 5.3e17.
        let link = u64::from(bytes) * 8_000_000_000_000;
        Time::from_ps(self.keys.speedup.of(link.div_ceil(self.rate.bps())))
    }

    /// Begins measuring `now`: levels as they are, counts at zero.
    pub fn restart(&mut self, pool: &Pool, now: Time) {
        let each = self.lists.len() / self.ports;
        for (input, lists) in self.inputs.iter_mut().zip(self.lists.chunks(each)) {
            let inside: Vec<_> = of(pool, lists).collect();
            input.sojourns.restart(now, input.occupancy.both(), inside.into_iter());
            input.waits.clear();
            input.frames = 0;
        }
    }

    /// The lists of what waits at its inputs.
    pub fn lists(&self) -> &[List] {
        &self.lists
    }

    /// Frames that cross and are nowhere else.
    pub fn frames_underway(&self) -> impl Iterator<Item = &Frame> {
        self.outputs.iter().filter_map(|output| output.underway.as_ref()).map(|(frame, _)| frame)
    }

    /// Frames that wait at inputs.
    pub fn frames_waiting(&self) -> u64 {
        self.inputs.iter().map(|input| input.occupancy.frames).sum()
    }

    /// Frames that wait at inputs or cross.
    pub fn frames_inside(&self) -> u64 {
        self.frames_waiting() + self.frames_underway().count() as u64
    }

    /// Bytes of its tables and histograms.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Crossbar>()
            + self.arbiter.memory_bytes()
            + self.lists.capacity() * size_of::<List>()
            + self.wants.capacity() * size_of::<u32>()
            + self.requests.memory_bytes()
            + self.outputs.capacity() * size_of::<Output>()
            + self.held.capacity() * size_of::<u64>()
            + self.inputs.capacity() * size_of::<Input>()
            + self.inputs.iter().map(|input| input.waits.memory_bytes()).sum::<usize>()
    }
}

/// What waits in some lists: since when, and how long it is.
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
