//! Hosts and switches without limits, latency and flow control, for use as `..Default::default()`.

use super::{Forwarding, HostSpec, Queueing, SwitchSpec, WhenFull};
use frame::ClassMap;
use scheduling::SchedulerSpec;
use units::Time;

impl Default for HostSpec {
    fn default() -> HostSpec {
        HostSpec {
            classes: ClassMap::SEPARATE,
            scheduler: SchedulerSpec::StrictPriority,
            queue_limit: None,
            when_full: WhenFull::Block,
            flow_control: None,
            receive: None,
            send: None,
            limiters: None,
            nic_limits: None,
        }
    }
}

impl Default for SwitchSpec {
    fn default() -> SwitchSpec {
        SwitchSpec {
            forwarding: Forwarding::StoreAndForward,
            latency: Time::ZERO,
            queueing: Queueing::Output,
            path_choice: Default::default(),
            weights: Default::default(),
            classes: ClassMap::SEPARATE,
            scheduler: SchedulerSpec::StrictPriority,
            buffer: Default::default(),
            shared_memory: None,
            pools: None,
            managers: Default::default(),
            flow_control: None,
            remaps: Vec::new(),
            trimming: None,
        }
    }
}
