//! Crossbars at work: from the input of a frame to the queue of its egress port.
//!
//! A frame that comes through a port waits at that input until it is matched with its output (`queueing::Arbiter`). It
//! then crosses; when it has crossed it comes to the queue of its egress port as in a switch without a crossbar, as if it
//! began its way there: what counts where frames came in from has let go of it when it began to cross. A cut-through
//! switch hands it over when it begins to cross, as its latency contains the way of the head; input and output are busy
//! until all of it has come and crossed.
//!
//! A match is due only when it may find something: a frame wants to cross whose input and output are free, or become free,
//! or an output has room again.
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
    /// The longest frame of the fabric.
    longest: u64,
    arbiter: Arbiter,
    /// By input, output and class; with FIFO inputs by input and class.
    lists: Vec<List>,
    /// By output and input, the classes whose next frame wants to cross.
    wants: Vec<u32>,
    /// By output, the inputs that have a frame for it; by input, the outputs; as one set, the outputs of any frame.
    wanted_by: Vec<Ports>,
    wanted_of: Vec<Ports>,
    wanted: Ports,
    /// Inputs that do not send, and outputs that nothing crosses to.
    free_inputs: Ports,
    free_outputs: Ports,
    /// By output, what crosses to it.
    crossing: Vec<Underway>,
    /// By output and class, bytes that cross or wait there; by output, the classes that have room for the longest frame, all
    /// if each frame is looked at.
    held: Vec<u64>,
    roomy: Vec<u32>,
    pub inputs: Vec<Input>,
    /// The next match.
    matching: Timer,
    /// The last one has left out a pair that could have been matched: the next thing that happens may find it.
    left_over: bool,
    requests: Requests,
    matches: Vec<Crossing>,
}

/// What has waited at an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
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
    /// A frame that has waited so long begins to cross.
    #[inline]
    fn leave(&mut self, bytes: u16, waited: Time) {
        self.occupancy.remove(bytes);
        self.sojourns.leave(bytes, waited);
        self.waits.record(waited);
        self.frames += 1;
    }
}

/// A frame that crosses from an input, unless it has been handed over already.
#[derive(Clone, Copy, Debug, Default)]
struct Underway {
    input: usize,
    frame: Option<(Frame, TrafficClass)>,
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
            arbiter: Arbiter::new(&keys, ports),
            lists: vec![List::EMPTY; ports * queues * classes],
            wants: vec![0; ports * ports],
            wanted_by: vec![0; ports],
            wanted_of: vec![0; ports],
            wanted: 0,
            free_inputs: Ports::MAX,
            free_outputs: Ports::MAX,
            crossing: vec![Underway::default(); ports],
            held: vec![0; ports * classes],
            roomy: vec![u32::MAX; ports],
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
    fn want(&mut self, input: usize, output: usize, class: u8) {
        self.wants[output * self.ports + input] |= 1 << class;
        self.wanted_by[output] |= 1 << input;
        self.wanted_of[input] |= 1 << output;
        self.wanted |= 1 << output;
    }

    /// It crosses.
    fn want_no_more(&mut self, input: usize, output: usize, class: u8) {
        let wants = &mut self.wants[output * self.ports + input];
        *wants &= !(1 << class);
        if *wants == 0 {
            self.wanted_by[output] &= !(1 << input);
            self.wanted_of[input] &= !(1 << output);
            if self.wanted_by[output] == 0 {
                self.wanted &= !(1 << output);
            }
        }
    }

    /// Whether an input and an output are both free.
    #[inline]
    fn are_free(&self, input: usize, output: usize) -> bool {
        self.free_inputs >> input & self.free_outputs >> output & 1 != 0
    }

    /// Whether a frame that comes can cross, and no other could before it.
    fn crosses_at_once(&self, input: usize, output: usize, class: TrafficClass, bytes: u16) -> bool {
        let held = self.held[output * self.classes + class.at()];
        self.are_free(input, output)
            && !self.left_over
            && self.roomy[output] >> class.0 & 1 != 0
            && held + u64::from(bytes) <= self.keys.output_buffer.get()
    }

    /// Whether a free input has a frame for an output.
    #[inline]
    fn is_wanted(&self, output: usize) -> bool {
        self.wanted_by[output] & self.free_inputs != 0
    }

    /// So many bytes are on their way to a class of an output.
    fn hold(&mut self, output: usize, class: usize, bytes: u16) {
        self.held[output * self.classes + class] += u64::from(bytes);
        self.look_at_room(output, class);
    }

    /// They have left it; true: there is room for more.
    fn let_go(&mut self, output: usize, class: usize, bytes: u16) -> bool {
        let held = &mut self.held[output * self.classes + class];
        let left = held.checked_sub(u64::from(bytes));
        *held = left.expect("an output holds what leaves it: this is a fault of the simulator");
        let before = self.roomy[output];
        self.look_at_room(output, class);
        self.keys.room == Room::Frame || self.roomy[output] != before
    }

    fn look_at_room(&mut self, output: usize, class: usize) {
        if self.keys.room == Room::Longest {
            let held = self.held[output * self.classes + class];
            let roomy = held + self.longest <= self.keys.output_buffer.get();
            self.roomy[output] = self.roomy[output] & !(1 << class) | u32::from(roomy) << class;
        }
    }

    /// Writes down which frames may cross.
    fn request(&mut self, pool: &Pool) {
        self.requests.clear();
        for output in ports_of(self.wanted & self.free_outputs) {
            let roomy = self.roomy[output];
            for input in ports_of(self.wanted_by[output] & self.free_inputs) {
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

    /// A crossing is over. Whether that may lead to others.
    fn frees(&mut self, input: usize, output: usize) -> bool {
        self.free_inputs |= 1 << input;
        self.free_outputs |= 1 << output;
        self.left_over || self.is_wanted(output) || self.wanted_of[input] & self.free_outputs != 0
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
        self.crossing.iter().filter_map(|underway| underway.frame.as_ref()).map(|(frame, _)| frame)
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
            + (self.wants.capacity() + self.roomy.capacity()) * size_of::<u32>()
            + (self.wanted_by.capacity() + self.wanted_of.capacity()) * size_of::<Ports>()
            + self.requests.memory_bytes()
            + self.crossing.capacity() * size_of::<Underway>()
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
    pub fn crossbar_mut(&mut self) -> Option<&mut Crossbar> {
        match self {
            Architecture::OutputQueued(_) => None,
            Architecture::Crossbar(bar) => Some(bar),
        }
    }
}
