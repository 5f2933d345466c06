//! Opening a session.

use crate::events::Ids;
use crate::recording::Recording;
use crate::{Session, SessionError};
use fabric::Simulation;
use jobs::WorkloadSpec;
use scenario::{Diagnostics, Scenario};
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// Job that is added to a scenario without a job with `session = true`.
const JOB: &str = "\n[[jobs]]\nname = \"session\"\nranks = \"all\"\nworkload = { session = true }\n";

/// Reads a scenario, whose files are in the folder of `file`.
///
/// # Errors
/// All errors in the scenario.
pub fn read_no_files(text: &str, file: &str, seed: Option<u64>) -> Result<Scenario, Diagnostics> {
    scenario::load_seeded(text.as_bytes(), file, Path::new(file).parent(), seed)
}

/// Returns true if the scenario has a job for a session.
pub fn is_driven(scenario: &Scenario) -> bool {
    scenario.effective.jobs.iter().any(|job| job.workload.session)
}

/// Returns the text of a scenario with a job for the session added: all hosts, over queue pairs with defaults.
pub fn with_job(text: &str) -> String {
    format!("{text}{JOB}")
}

impl Session {
    /// Opens a scenario, which `load` reads from its text, the name of its file and the seed. It adds a job with
    /// `session = true` if the scenario has none.
    ///
    /// # Errors
    /// If the scenario cannot be run, or has several such jobs.
    pub fn open(
        text: &str,
        file: &str,
        seed: Option<u64>,
        load: impl Fn(&str, &str, Option<u64>) -> Result<Scenario, Diagnostics>,
    ) -> Result<Session, SessionError> {
        // A scenario without traffic may be rejected although a session can open it.
        let scenario = match load(text, file, seed) {
            Ok(scenario) if is_driven(&scenario) => scenario,
            _ => load(&with_job(text), file, seed).map_err(SessionError::Scenario)?,
        };
        Session::of(scenario)
    }

    /// Opens a scenario that has a job with `session = true`.
    ///
    /// # Errors
    /// If it has none or several, or cannot be built.
    pub fn of(mut scenario: Scenario) -> Result<Session, SessionError> {
        let jobs = (0..).zip(&scenario.effective.jobs);
        let own: Vec<u32> = jobs.filter(|(_, job)| job.workload.session).map(|(at, _)| at).collect();
        let [job] = own[..] else { return Err(SessionError::SeveralSessions { jobs: own.len() }) };
        let spec = &mut scenario.spec.jobs[job as usize];
        if let WorkloadSpec::Messages(list) = &mut spec.workload {
            Arc::make_mut(list).open = true;
        }
        let nodes = &scenario.spec.nodes;
        let hosts: Vec<String> = scenario.spec.jobs[job as usize]
            .hosts
            .iter()
            .map(|&host| nodes[host.at()].name.clone())
            .collect();
        let mut simulation = Simulation::on_threads(&scenario.spec, 1)
            .map_err(|error| SessionError::Simulation(error.to_string()))?;
        simulation.drive();
        Ok(Session {
            simulation,
            job,
            rank_of: hosts.iter().cloned().zip(0..).collect(),
            hosts,
            next_id: 0,
            ids: Ids::default(),
            timers: BinaryHeap::new(),
            armed: BTreeSet::new(),
            events: VecDeque::new(),
            recording: None,
            ended: false,
            scenario,
        })
    }

    /// Starts recording requests, for [`Session::recorded`].
    pub fn record(&mut self) {
        self.recording.get_or_insert_with(Recording::default);
    }
}
