//! Processing time of sent and received frames on the cores of an end station.

use units::{BitRate, Time};

/// Processing of a frame before it enters the NIC of an end station, on the cores of [`ReceiveSpec`].
#[derive(Clone, Debug, Default)]
pub struct SendSpec {
    /// Processing time of each frame.
    pub time_per_frame: Time,
    /// Rate for the additional processing of a frame's bytes (DA to FCS); `None`: they take no time.
    pub rate: Option<BitRate>,
    /// Scripted changes in the order of time.
    pub script: Vec<(Time, CoreChange)>,
}

/// Receive processing of an end station.
#[derive(Clone, Debug)]
pub struct ReceiveSpec {
    /// Processing time of each frame.
    pub time_per_frame: Time,
    /// Rate for the additional processing of a frame's bytes (DA to FCS); `None`: they take no time.
    pub rate: Option<BitRate>,
    /// Buffer of each port for each priority, in bytes; `None`: unlimited.
    pub buffer: Option<u64>,
    /// Number of cores per port, each of which processes the frames of its flows; above 0.
    pub cores: u32,
    /// Interrupts that wake the cores.
    pub interrupt: InterruptSpec,
    /// Scripted changes in the order of time.
    pub script: Vec<(Time, CoreChange)>,
}

impl ReceiveSpec {
    /// Returns true if frames take processing time, initially or after a change.
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
    /// Number of queued frames that triggers the interrupt immediately; `None`: no number does.
    pub frames: Option<u32>,
}

/// A scripted change of the cores of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoreChange {
    /// Starts no further frame; the current one is completed.
    Stop,
    /// Resumes, with new costs if given.
    Start {
        /// Cost of each frame from now on.
        time_per_frame: Option<Time>,
        /// Cost of bytes from now on.
        rate: Option<BitRate>,
    },
    /// Changes the costs of sending, if given.
    Send {
        /// Cost of each frame from now on.
        time_per_frame: Option<Time>,
        /// Cost of bytes from now on.
        rate: Option<BitRate>,
    },
}
