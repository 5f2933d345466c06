//! The requests of a session as a file of messages, which reproduces the run.

use jobs::Request;
use std::fmt::Write;
use units::Time;

/// Requests in the order of the calls.
#[derive(Debug, Default)]
pub(crate) struct Recording(Vec<(u32, Time, Request)>);

impl Recording {
    pub fn add(&mut self, rank: u32, at: Time, request: Request) {
        self.0.push((rank, at, request));
    }

    /// Returns the requests as CSV, with times to the picosecond.
    pub fn text(&self, hosts: &[String]) -> String {
        let mut text = "start,from,to,bytes,compute\n".to_string();
        for &(rank, at, request) in &self.0 {
            let (at, from) = (at.ps(), &hosts[rank as usize]);
            // Writing to a string does not fail.
            let _ = match request {
                Request::Send { to, bytes } => {
                    writeln!(text, "{at} ps,{from},{},{bytes} B,", hosts[to as usize])
                }
                Request::Compute { time } => writeln!(text, "{at} ps,{from},,,{} ps", time.ps()),
            };
        }
        text
    }
}
