//! The DCBX agent for Python: its inputs are frames and the time, its outputs frames and the operational state.

use dcbx::{Administered, Agent, Origin, Profile, Settings};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use units::Time;
use wire::Mac;

/// The agent of one port. Times are nanoseconds since its start.
#[pyclass]
pub struct DcbxAgent {
    agent: Agent,
}

fn time(ns: u64) -> PyResult<Time> {
    let too_late = || PyOverflowError::new_err(format!("{ns} ns: an agent counts at most 213 days"));
    ns.checked_mul(1_000).map(Time::from_ps).ok_or_else(too_late)
}

fn read(py: Python<'_>, settings: &str, file: &str) -> PyResult<(Administered, Profile)> {
    let settings: Settings =
        scenario::settings(settings.as_bytes(), file).map_err(|found| crate::scenario_error(py, &found))?;
    settings.administered().map_err(|error| unfit(file, &error))
}

fn unfit(file: &str, error: &wire::Error) -> PyErr {
    PyValueError::new_err(format!("{file}: {error}"))
}

#[pymethods]
impl DcbxAgent {
    /// Creates the agent of the port with this address, with settings as TOML. `file` is their name in messages.
    #[new]
    fn start(py: Python<'_>, mac: [u8; 6], settings: &str, file: &str) -> PyResult<DcbxAgent> {
        let (admin, profile) = read(py, settings, file)?;
        let agent = Agent::new(Mac(mac), admin, profile, Time::ZERO).map_err(|error| unfit(file, &error))?;
        Ok(DcbxAgent { agent })
    }

    /// Changes the administered settings. The rule for two willing ends does not change.
    fn administer(&mut self, py: Python<'_>, settings: &str, file: &str, now_ns: u64) -> PyResult<()> {
        let (admin, _) = read(py, settings, file)?;
        self.agent.administer(admin, time(now_ns)?).map_err(|error| unfit(file, &error))
    }

    /// Processes a received frame.
    fn receive(&mut self, frame: &[u8], now_ns: u64) -> PyResult<()> {
        self.agent.receive(frame, time(now_ns)?);
        Ok(())
    }

    /// Returns a frame to send now, if one is due. Removes expired neighbours.
    fn send(&mut self, now_ns: u64) -> PyResult<Option<Vec<u8>>> {
        let now = time(now_ns)?;
        self.agent.age(now);
        Ok(self.agent.send(now))
    }

    /// Returns the time of the next timer event. A received frame may change it.
    fn next_ns(&self) -> u64 {
        self.agent.next_time().ps().div_ceil(1_000)
    }

    /// Returns the shutdown frame, which makes the peer remove the port's information at once.
    fn last(&self) -> Option<Vec<u8>> {
        self.agent.clone().shut_down()
    }

    /// Returns administered, received and operational state, with reasons, as JSON.
    fn state(&self, now_ns: u64) -> PyResult<String> {
        let now = time(now_ns)?;
        let neighbours: Vec<Value> = self.agent.neighbours().iter().map(|one| neighbour(one, now)).collect();
        let state = json!({
            "mac": self.agent.mac(),
            "administered": self.agent.administered(),
            "neighbours": neighbours,
            "operational": operational(self.agent.operational()),
            "counters": self.agent.counters(),
        });
        Ok(state.to_string())
    }
}

fn neighbour(one: &dcbx::Neighbour, now: Time) -> Value {
    json!({
        "chassis": one.chassis,
        "port": one.port,
        "mac": one.mac,
        "remaining_s": one.until.saturating_sub(now).ps() / 1_000_000_000_000,
        "remote": one.remote,
    })
}

fn operational(now: &dcbx::Operational) -> Value {
    let conditions: Vec<String> = now.conditions.iter().map(ToString::to_string).collect();
    json!({
        "ets": { "table": now.ets, "adopted": now.ets_origin == Origin::Adopted, "why": now.ets_origin.to_string() },
        "pfc": { "enabled": now.pfc, "adopted": now.pfc_origin == Origin::Adopted, "why": now.pfc_origin.to_string() },
        "applications": now.applications,
        "conditions": conditions,
    })
}
