//! Scenario text to checked scenario, and the JSON Schema of scenarios.
//!
//! A scenario is a TOML file that describes a fabric, its traffic and its mechanisms. [`load`] reads it
//! and checks it once, completely; what comes out is a [`fabric::spec::Spec`] that cannot be wrong, and
//! the effective scenario, in which every default is written out. Everything that is wrong is reported
//! together, each with its place in the text, what is accepted and what was probably meant.
//!
//! The way through the code: `read` (bytes, TOML, keys), `model` (the typed text), `effective` (defaults),
//! `check` (what the values mean together).
//!
//! ```
//! let text = r#"
//! [simulation]
//! duration = "10 us"
//! [topology.star]
//! hosts = 2
//! rate = "10 Gb/s"
//! [[flows]]
//! name = "f"
//! from = "h0"
//! to = "h1"
//! sorce = "greedy"
//! "#;
//! let why = scenario::load(text, "first.toml", None).unwrap_err();
//! let first = why.errors().next().unwrap();
//! assert_eq!((first.line, first.message.as_str()), (11, "unknown key `sorce`"));
//! ```

#![warn(clippy::too_many_lines)]

mod check;
mod diagnostics;
mod effective;
mod either;
pub mod model;
mod place;
mod read;
#[cfg(feature = "generate")]
mod schema;
mod value;

pub use diagnostics::{Diagnostic, Diagnostics, Severity};
pub use read::{MAX_BYTES, MAX_ERRORS};
#[cfg(feature = "generate")]
pub use schema::json_schema;

use diagnostics::Source;
use fabric::spec::Spec;
use model::Model;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::Path;
use units::Bytes;

/// The JSON Schema of a scenario: each key with its meaning, unit, range and default. `make docs` writes it.
pub const JSON_SCHEMA: &str = include_str!("scenario.schema.json");

/// Reads other settings than a scenario: a TOML file that is one table of keys.
pub fn settings<T: DeserializeOwned>(bytes: &[u8], file: &str) -> Result<T, Diagnostics> {
    let text = read::text(bytes, file)?;
    read::whole(&Source { file, text }).map_err(Diagnostics)
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name in results.
    pub name: String,
    /// What a simulation is built from.
    pub spec: Spec,
    /// The most memory that a run may hold; `None`: what the machine has free. No run depends on it but one
    /// that exceeds it.
    pub memory_limit: Option<Bytes>,
    /// Height of each node in a drawing, in the order of the nodes: 0 for hosts.
    pub levels: Vec<u8>,
    /// The scenario with every default written out.
    pub effective: Model,
    /// What is probably not as meant.
    pub warnings: Vec<Diagnostic>,
    notes: Vec<effective::Note>,
}

impl Scenario {
    /// The effective scenario as TOML. Loading it gives the same [`Spec`] and the same text.
    pub fn effective_toml(&self) -> String {
        effective::to_toml(&self.effective, &self.notes)
    }
    /// A hash of all that a run is a function of: the files that the scenario names are in it, and its seed; the
    /// memory that it may hold is not.
    pub fn identity(&self) -> u64 {
        let mut digest = Digest(DefaultHasher::new());
        let mut effective = self.effective.clone();
        effective.simulation.memory_limit = units::Or::word();
        // Every part derives its form, and numbers are written so that they read back the same.
        let _ = write!(digest, "{:?}", (&self.name, &self.spec, &effective));
        digest.0.finish()
    }
    /// Settings with which a lossless class can lose frames, a message each; they are among the warnings.
    pub fn broken_promises(&self) -> Vec<String> {
        let broken = self.warnings.iter().filter(|warning| warning.breaks_promise());
        broken.map(|warning| warning.message.clone()).collect()
    }
    /// The effective scenario as JSON.
    pub fn effective_json(&self) -> String {
        serde_json::to_value(&self.effective).map(|model| format!("{model:#}")).unwrap_or_default()
    }
}

/// Hashes text as it is written, so that it need not be held.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Reads and checks a scenario. `file` names it in messages; files that it mentions are looked for in
/// `base_dir`, or in the current directory.
pub fn load(text: &str, file: &str, base_dir: Option<&Path>) -> Result<Scenario, Diagnostics> {
    load_seeded(text.as_bytes(), file, base_dir, None)
}

/// As [`load`], for bytes of any kind.
pub fn load_bytes(bytes: &[u8], file: &str, base_dir: Option<&Path>) -> Result<Scenario, Diagnostics> {
    load_seeded(bytes, file, base_dir, None)
}

/// As [`load_bytes`], with another seed than the scenario names.
pub fn load_seeded(
    bytes: &[u8],
    file: &str,
    base_dir: Option<&Path>,
    seed: Option<u64>,
) -> Result<Scenario, Diagnostics> {
    let parquet: &Parquet<'_> = &|_| Err("only the Python package reads Parquet".to_string());
    load_with(bytes, file, seed, Files { base_dir, anywhere: false, parquet })
}

/// Reads a Parquet file as CSV. That takes another library than those of the engine, which whoever loads brings along.
pub type Parquet<'a> = dyn Fn(&Path) -> Result<Box<dyn Read>, String> + 'a;

/// Access to the files that a scenario names.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The folder that names are relative to; `None`: the current directory.
    pub base_dir: Option<&'a Path>,
    /// Reads files outside that folder, too. A scenario from somebody else could show any file of this machine then:
    /// a message about a wrong line quotes it.
    pub anywhere: bool,
    /// Reads Parquet files.
    pub parquet: &'a Parquet<'a>,
}

/// As [`load_seeded`], with access to files as `files` says.
pub fn load_with(
    bytes: &[u8],
    file: &str,
    seed: Option<u64>,
    files: Files<'_>,
) -> Result<Scenario, Diagnostics> {
    let text = read::text(bytes, file)?;
    let source = Source { file, text };
    let document = read::document(&source).map_err(Diagnostics)?;
    let mut model = read::model(&document, &source).map_err(Diagnostics)?;
    model.simulation.seed = seed.unwrap_or(model.simulation.seed);
    effective::fill(&mut model, file);
    check::check(model, check::Context::new(source, &document, files))
}
