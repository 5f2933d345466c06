//! Scenarios from their texts to the results, in one binary.

mod bad_input;
mod dcbx;
mod defects;
mod disturbed;
mod faults;
mod guards;
mod hangs;
mod job_frames;
mod job_in_network;
mod jobs;
mod links;
mod lossless;
mod maps;
mod names;
mod pinned;
mod promises;
mod recurrence;
mod robust;
mod schema;
mod strict;
mod threads;
mod tiers;
mod together;
mod transfers;
mod unused;
mod valid;
