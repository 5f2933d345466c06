//! Processing time of frames that the cores of an end station send and receive.

use units::{BitRate, Time};

/// Processing of a frame before it enters the NIC of an end station, on the cores of [`ReceiveSpec`].
#[derive(Clone, Debug, Default)]
pub struct SendSpec {
    /// Processing time of each frame.
    pub time_per_frame: Time,
    /// Rate at which the bytes of a frame (DA to FCS) are processed in addition; `None`: they take no time.
    pub rate: Option<BitRate>,
    /// Changes in order of time.
    pub script: Vec<(Time, CoreChange)>,
}

/// Receive processing of an end station.
#[derive(Clone, Debug)]
pub struct ReceiveSpec {
    /// Processing time of each frame.
    pub time_per_frame: Time,
    /// Rate at which the bytes of a frame (DA to FCS) are processed in addition; `None`: they take no time.
    pub rate: Option<BitRate>,
    /// Room of each port for each priority, in bytes; `None`: unlimited.
    pub buffer: Option<u64>,
    /// Cores of each port, each of which takes in the frames of its flows; above 0.
    pub cores: u32,
    /// Interrupts that wake the cores.
    pub interrupt: InterruptSpec,
    /// Changes in order of time.
    pub script: Vec<(Time, CoreChange)>,
}

impl ReceiveSpec {
    /// Returns true if frames take processing time, now or after a change.
    pub fn takes_time(&self) -> bool {
        let costs = |change: &(Time, CoreChange)| matches!(change.1, CoreChange::Start { time_per_frame, rate } if rate.is_some() || time_per_frame.is_some_and(|time| time > Time::ZERO));
        let interrupt = self.interrupt.time > Time::ZERO || self.interrupt.delay > Time::ZERO;
        self.time_per_frame > Time::ZERO || self.rate.is_some() || interrupt || self.script.iter().any(costs)
    }
}

impl Default for ReceiveSpec {
    /// One core, without any cost.
    fn default() -> ReceiveSpec {
        ReceiveSpec {
            time_per_frame: Time::ZERO,
            rate: None,
            buffer: None,
            cores: 1,
            interrupt: InterruptSpec::default(),
            script: vec![],
        }
    }
}

/// Interrupt that wakes an idle core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterruptSpec {
    /// Duration of the interrupt.
    pub time: Time,
    /// Delay from the arrival of the first frame to the interrupt.
    pub delay: Time,
    /// Number of waiting frames that triggers it at once; `None`: no number does.
    pub frames: Option<u32>,
}

/// A change of what the cores of a host do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoreChange {
    /// Begins no further frame; the one being taken in is finished.
    Stop,
    /// Goes on, with these costs where they are given.
    Start {
        /// Cost of each frame from now on.
        time_per_frame: Option<Time>,
        /// Cost of bytes from now on.
        rate: Option<BitRate>,
    },
    /// Sends at these costs where they are given.
    Send {
        /// Cost of each frame from now on.
        time_per_frame: Option<Time>,
        /// Cost of bytes from now on.
        rate: Option<BitRate>,
    },
}
