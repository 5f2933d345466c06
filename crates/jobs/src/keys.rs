//! The keys of a workload and of the costs of its ranks.

mod reduction;

use crate::collectives::{Algorithm, Collective};
use crate::workload::CollectiveSpec;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// Maximum number of chunks.
const MOST_CHUNKS: u64 = 65_536;
/// Default of `eager`: the longest eager message of LogGOPSim, in bytes.
const EAGER: u64 = 65_535;
/// Maximum size of the vector.
const LARGEST: Bytes = Bytes::new(1 << 44);

fn one() -> u64 {
    1
}
fn is_one(value: &u64) -> bool {
    *value == 1
}
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Workload of a job: a collective operation, a schedule or a list of messages.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadKeys {
    /// Collective operation: "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "barrier" or "send_receive" (from each rank to the next). Required, unless `goal`, `messages` or `session` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<Collective>,
    /// GOAL schedule in place of a collective: the path of a text or binary file, relative to the scenario. Rank i of the schedule is rank i of the job. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Message list in place of a collective: the path of a CSV file with the columns start, from, to, bytes and compute, relative to the scenario. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
    /// If true, a session that drives the run supplies the messages, in place of a collective. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
    /// Pairs of ranks that have connections: "used" (those of `messages`) or "all". Default: "used"; "all" with `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Eager limit of a schedule: the send of a message up to this length completes when the processor has handed it over, that of a longer one when it is acknowledged. A size with unit. Default: "65535 B" (S of LogGOPSim).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager: Option<Bytes>,
    /// Algorithm of the operation: "ring", "halving_doubling", "recursive_doubling", "double_tree", "hierarchical" or "in_network" (all_reduce); "ring" or "halving_doubling" (reduce_scatter, all_gather); "shifted", "burst" or "bruck" (all_to_all); "binomial", "ring" or "in_network" (broadcast); "binomial" or "in_network" (reduce); "dissemination" or "in_network" (barrier); "pipeline" (send_receive). Default: the first one listed for the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Bytes of the whole vector (all_reduce, reduce_scatter, broadcast, reduce), of the whole output (all_gather), of the send buffer of a rank (all_to_all), or of all data passed from rank to rank (send_receive). A size with unit, at most 16 TiB. Required with `collective`, except for a barrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Number of equal chunks of the data that are processed concurrently, as a pipeline; micro-batches of send_receive. A count, 1 to 65536. Default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 65536))]
    pub chunks: u64,
    /// Group size of "hierarchical": number of consecutive ranks in a group, such as the GPUs of a server. A count above 1 that divides the number of ranks. Required for "hierarchical".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub group: Option<u64>,
    /// Root rank: the source of a broadcast, or the destination of a reduction. A whole number below the number of ranks. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub root: u64,
    /// Skew of an all_to_all ("shifted" or "burst"): the share of each send buffer that rank d receives is proportional to (d + 1)^-skew. A number, 0 to 10. Default: 0 (all parts are equal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub skew: Option<f64>,
    /// Segment size of "in_network": bytes that an aggregation unit reduces as a whole. A size with unit, at least 1 B. Default: "4 KiB" (the largest MTU of InfiniBand: streaming aggregation works on packets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// Number of segments of "in_network" that an aggregation unit holds for the job, and for whose results a rank can wait. A count, 1 to 65536. Default: 128 (4 KiB each: a round trip of 10 us at 400 Gb/s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub outstanding: Option<u64>,
    /// Rate of an aggregation unit of "in_network": rate at which it exchanges segments with its switch, in each direction. All jobs at a switch share one unit. A rate with unit, 1 Mb/s to 1 Pb/s. Default: the sum of the rates of the links of its switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction_rate: Option<BitRate>,
    /// Latency of an aggregation unit of "in_network": time from the last bit of an arriving segment to the first bit of its result, upwards and downwards. Frames also pass the switch before and after the unit. A time with unit, at most 1 s. Default: "100 ns" (no separate figure for a unit is published; a switch with such units takes 90 ns from port to port).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction_latency: Option<Time>,
}

/// Pairs of ranks that have connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairs {
    /// Pairs of ranks between which a message is sent.
    Used,
    /// All pairs of ranks.
    All,
}

/// Placement of the ranks of a job on hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Rank i is on the i-th host, in the order in which the hosts are selected.
    #[default]
    Linear,
    /// Leaf switch by leaf switch: consecutive ranks are on hosts of the same leaf switch.
    Packed,
    /// Round-robin over the leaf switches: consecutive ranks are on hosts of different leaf switches.
    Spread,
    /// Pod by pod; the switches of a pod are connected without switches of the highest level.
    ByPod,
    /// Rail by rail; hosts of a rail have the same number after the point in their names, as in `rails`.
    ByRail,
    /// Hosts in an order drawn from the seed and the name of the job.
    Random,
}

/// Cost of messages for a rank's processor (LogGOPS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCosts {
    /// Time per message, at its sender and at its receiver (o).
    pub overhead: Time,
    /// Time per byte of a message, at its sender and at its receiver (O).
    pub overhead_per_byte: Time,
}

impl JobCosts {
    /// Returns the time for which a message occupies the processor at either end.
    pub fn of_message(&self, bytes: u64) -> Time {
        let per_byte = u128::from(self.overhead_per_byte.ps()) * u128::from(bytes);
        self.overhead.saturating_add(Time::from_ps(per_byte.min(u128::from(u64::MAX / 2)) as u64))
    }
}

impl WorkloadKeys {
    /// Returns the algorithm of a collective: the given one or the default.
    fn algorithm_of(&self, collective: Collective) -> Algorithm {
        self.algorithm.unwrap_or(collective.algorithms()[0])
    }

    /// Fills in the defaults that depend on other keys.
    pub fn fill(&mut self) {
        if let (Some(collective), None) = (self.collective, self.algorithm) {
            self.algorithm = Some(self.algorithm_of(collective));
        }
        self.fill_reduction();
        if self.goal.is_some() {
            self.eager.get_or_insert(Bytes::new(EAGER));
        }
        if self.messages.is_some() || self.session {
            self.pairs.get_or_insert(if self.session { Pairs::All } else { Pairs::Used });
        }
    }

    /// Returns the length in bytes of the longest message of a program whose send ends when the processor has handed it
    /// over.
    pub fn eager(&self) -> u64 {
        self.eager.map_or(EAGER, Bytes::get)
    }

    /// Returns the collective of `ranks` ranks, and remarks on keys without effect. The collective is `None` for a
    /// program or a list of messages.
    ///
    /// # Errors
    /// One remark for each invalid value.
    pub fn spec(&self, ranks: u64) -> Result<(Option<CollectiveSpec>, Vec<Remark>), Vec<Remark>> {
        let given = [
            ("collective", self.collective.is_some()),
            ("goal", self.goal.is_some()),
            ("messages", self.messages.is_some()),
            ("session", self.session),
        ];
        let given: Vec<&str> = given.into_iter().filter(|own| own.1).map(|own| own.0).collect();
        if let [first, second, ..] = given[..] {
            let message = format!("`{second}` beside `{first}`");
            return Err(vec![Remark::about(second, message, "expected one of the two")]);
        }
        match self.collective {
            Some(collective) => {
                let spec = self.collective_spec(collective, ranks)?;
                let unused = self.unused(collective);
                Ok((Some(spec), unused))
            }
            None if given.is_empty() => {
                let help = "expected collective = \"all_reduce\", goal = \"FILE\", messages = \"FILE\" or session = true";
                Err(vec![Remark::new("a workload without a collective, a schedule or messages", help)])
            }
            None => Ok((None, self.unused_without_collective())),
        }
    }

    fn collective_spec(&self, collective: Collective, ranks: u64) -> Result<CollectiveSpec, Vec<Remark>> {
        let mut wrong = Vec::new();
        let algorithm = self.algorithm_of(collective);
        let (operation, name) = (collective.name(), algorithm.name());
        if !collective.algorithms().contains(&algorithm) {
            let known = collective.algorithms().iter().map(|one| format!("\"{}\"", one.name()));
            let message = format!("\"{name}\" is not an algorithm of {operation}");
            let help = format!("expected {}", known.collect::<Vec<_>>().join(", "));
            wrong.push(Remark::about("algorithm", message, help));
        }
        let is_barrier = collective == Collective::Barrier;
        match self.bytes {
            None if !is_barrier => {
                let help = "expected a size with unit, like bytes = \"1 GB\"";
                wrong.push(Remark::about("bytes", format!("no bytes of {operation}"), help));
            }
            Some(bytes) if bytes > LARGEST => {
                let help = format!("expected at most {LARGEST}");
                wrong.push(Remark::about("bytes", format!("{bytes} of {operation}"), help));
            }
            _ => {}
        }
        if !(1..=MOST_CHUNKS).contains(&self.chunks) {
            let help = format!("expected a count, 1 to {MOST_CHUNKS}");
            wrong.push(Remark::about("chunks", format!("{} chunks", self.chunks), help));
        }
        wrong.extend(self.wrong_group(algorithm, ranks));
        wrong.extend(self.wrong_reduction(algorithm));
        if self.root >= ranks.max(1) {
            let help = format!("expected a rank, 0 to {}", ranks.saturating_sub(1));
            wrong.push(Remark::about("root", format!("root {} of {ranks} ranks", self.root), help));
        }
        let skew = self.skew.unwrap_or(0.0);
        if !(0.0..=10.0).contains(&skew) {
            wrong.push(Remark::about("skew", format!("a skew of {skew}"), "expected a number, 0 to 10"));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(CollectiveSpec {
            collective,
            algorithm,
            bytes: self.bytes.map_or(0, Bytes::get),
            chunks: self.chunks as u32,
            group: self.group.unwrap_or(1) as u32,
            root: self.root as u32,
            skew,
        })
    }

    fn wrong_group(&self, algorithm: Algorithm, ranks: u64) -> Option<Remark> {
        if algorithm != Algorithm::Hierarchical {
            return None;
        }
        let help = format!("expected a count above 1 and below {ranks} that divides {ranks}");
        match self.group {
            None => Some(Remark::about("group", "hierarchical without a group", help)),
            Some(group) if group < 2 || group >= ranks || !ranks.is_multiple_of(group) => {
                Some(Remark::about("group", format!("groups of {group} among {ranks} ranks"), help))
            }
            Some(_) => None,
        }
    }

    fn unused_without_collective(&self) -> Vec<Remark> {
        let of = if self.goal.is_some() { "a schedule" } else { "messages" };
        let of_goal = |key: &'static str, written: bool, owner: &str| {
            let help = format!("it belongs to {owner}; leave it out");
            written.then(|| Remark::about(key, format!("`{key}` has no effect on {of}"), help))
        };
        let other = match self.goal {
            Some(_) => of_goal("pairs", self.pairs.is_some(), "`messages` and `session`"),
            None => of_goal("eager", self.eager.is_some(), "`goal`"),
        };
        let written = [
            ("algorithm", self.algorithm.is_some()),
            ("bytes", self.bytes.is_some()),
            ("chunks", self.chunks > 1),
            ("group", self.group.is_some()),
            ("root", self.root > 0),
            ("skew", self.skew.is_some()),
        ];
        let written = written.into_iter().chain(self.reduction_keys());
        let remark = |key: &'static str| {
            let help = "it belongs to `collective`; leave it out";
            Remark::about(key, format!("`{key}` has no effect on {of}"), help)
        };
        let written = written.filter(|(_, written)| *written).map(|(key, _)| remark(key));
        written.chain(other).collect()
    }

    fn unused(&self, collective: Collective) -> Vec<Remark> {
        let algorithm = self.algorithm_of(collective);
        let is_barrier = collective == Collective::Barrier;
        let rooted = matches!(collective, Collective::Broadcast | Collective::Reduce);
        let skewed = matches!(algorithm, Algorithm::Shifted | Algorithm::Burst);
        let of = format!("{} ({})", collective.name(), algorithm.name());
        let without = |key: &'static str, written: bool, help: &str| {
            written.then(|| Remark::about(key, format!("`{key}` has no effect on {of}"), help))
        };
        [
            without("bytes", is_barrier && self.bytes.is_some(), "a barrier has no data; leave it out"),
            without("pairs", self.pairs.is_some(), "it belongs to `messages` and `session`; leave it out"),
            without("eager", self.eager.is_some(), "it belongs to `goal`; leave it out"),
            without("chunks", is_barrier && self.chunks > 1, "a barrier has no data; leave it out"),
            without(
                "chunks",
                !is_barrier && algorithm == Algorithm::InNetwork && self.chunks > 1,
                "its pieces are segments; leave it out",
            ),
            without(
                "group",
                algorithm != Algorithm::Hierarchical && self.group.is_some(),
                "it belongs to algorithm = \"hierarchical\"; leave it out",
            ),
            without("root", !rooted && self.root > 0, "it belongs to broadcast and reduce; leave it out"),
            without(
                "skew",
                !skewed && self.skew.is_some(),
                "it belongs to all_to_all, \"shifted\" or \"burst\"; leave it out",
            ),
        ]
        .into_iter()
        .flatten()
        .chain(self.unused_reduction(algorithm, &of))
        .collect()
    }
}
