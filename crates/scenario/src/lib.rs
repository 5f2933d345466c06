//! Loads and checks scenarios, and provides their JSON Schema.
//!
//! A scenario is a TOML file that describes a fabric, its traffic and its mechanisms. [`load`] reads and checks it. The
//! result is a valid [`fabric::spec::Spec`], and the effective scenario, in which every default is filled in. All
//! errors are reported together, each with its position in the text, the accepted values and what was probably meant.
//!
//! Stages of the code: `read` (bytes, TOML, keys), `model` (typed values), `effective` (defaults), `check` (the values
//! in combination).
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
mod phy_notes;
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
use flow_control::phy::Phy;
use jobs::Precision;
use model::Model;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::Path;
use units::Bytes;

/// The JSON Schema of scenarios: each key with its meaning, unit, range and default. Written by `make docs`.
pub const JSON_SCHEMA: &str = include_str!("scenario.schema.json");

/// Reads a settings file that is not a scenario: a TOML file with a single table of keys.
pub fn settings<T: DeserializeOwned>(bytes: &[u8], file: &str) -> Result<T, Diagnostics> {
    let text = read::text(bytes, file)?;
    read::whole(&Source { file, text }).map_err(Diagnostics)
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name in results.
    pub name: String,
    /// Specification from which a simulation is built.
    pub spec: Spec,
    /// Maximum memory of a run; `None` for the machine's free memory. It affects only runs that exceed it.
    pub memory_limit: Option<Bytes>,
    /// Height of each node in a drawing, in the order of the nodes: 0 for hosts.
    pub levels: Vec<u8>,
    /// The scenario with every default filled in.
    pub effective: Model,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Diagnostic>,
    notes: Vec<effective::Note>,
    default_phys: Vec<&'static Phy>,
}

impl Scenario {
    /// Returns the effective scenario as TOML. Loading it gives the same [`Spec`] and the same text.
    pub fn effective_toml(&self) -> String {
        effective::to_toml(&self.effective, &self.notes)
    }
    /// Returns a hash of all inputs of a run, including the files that the scenario names and the seed, but not the
    /// memory limit.
    pub fn identity(&self) -> u64 {
        let mut digest = Digest(DefaultHasher::new());
        let mut effective = self.effective.clone();
        effective.simulation.memory_limit = units::Or::word();
        // All parts derive `Debug`, which prints floats so that parsing them returns the same value.
        let _ = write!(digest, "{:?}", (&self.name, &self.spec, &effective));
        digest.0.finish()
    }
    /// Returns one message for each setting with which a lossless class can lose frames. These are among the warnings.
    pub fn not_lossless(&self) -> Vec<String> {
        let found = self.warnings.iter().filter(|warning| warning.is_not_lossless());
        found.map(|warning| warning.message.clone()).collect()
    }
    /// Returns the effective scenario as JSON.
    pub fn effective_json(&self) -> String {
        serde_json::to_value(&self.effective).map(|model| format!("{model:#}")).unwrap_or_default()
    }
}

/// Hashes text as it is written, so that it need not be stored.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Reads and checks a scenario. `file` is its name in messages. Files that it names are relative to `base_dir`, or to
/// the current directory.
pub fn load(text: &str, file: &str, base_dir: Option<&Path>) -> Result<Scenario, Diagnostics> {
    load_seeded(text.as_bytes(), file, base_dir, None)
}

/// Variant of [`load`] that reads arbitrary bytes, and reports invalid UTF-8 as an error.
pub fn load_bytes(bytes: &[u8], file: &str, base_dir: Option<&Path>) -> Result<Scenario, Diagnostics> {
    load_seeded(bytes, file, base_dir, None)
}

/// Variant of [`load_bytes`] with a seed that replaces the scenario's.
pub fn load_seeded(
    bytes: &[u8],
    file: &str,
    base_dir: Option<&Path>,
    seed: Option<u64>,
) -> Result<Scenario, Diagnostics> {
    let parquet: &Parquet<'_> = &|_| Err("only the Python package reads Parquet".to_string());
    let overrides = Overrides { seed, ..Overrides::default() };
    load_with(bytes, file, overrides, Files { base_dir, anywhere: false, parquet })
}

/// Values that replace those of `[simulation]`, like command-line options; `None` keeps the value of the scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Seed of all random streams.
    pub seed: Option<u64>,
    /// Precision at which jobs end.
    pub until: Option<Precision>,
}

/// Parses a precision at which jobs end, like "5 % at 95 %", and returns its canonical form.
///
/// # Errors
/// The accepted syntax, if the text does not follow it.
pub fn precision(text: &str) -> Result<String, String> {
    text.parse::<Precision>().map(String::from)
}

/// Function that reads a Parquet file as CSV. The caller provides it, since the engine lacks the required library.
pub type Parquet<'a> = dyn Fn(&Path) -> Result<Box<dyn Read>, String> + 'a;

/// Access to the files that a scenario names.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// Folder to which names are relative; `None` for the current directory.
    pub base_dir: Option<&'a Path>,
    /// True if files outside that folder may be read. A scenario from an untrusted source could then disclose any file
    /// of this machine, because a message about an invalid line quotes it.
    pub anywhere: bool,
    /// Function that reads Parquet files.
    pub parquet: &'a Parquet<'a>,
}

/// Variant of [`load_seeded`] with all overrides, and with access to files as `files` allows.
pub fn load_with(
    bytes: &[u8],
    file: &str,
    overrides: Overrides,
    files: Files<'_>,
) -> Result<Scenario, Diagnostics> {
    let text = read::text(bytes, file)?;
    let source = Source { file, text };
    let document = read::document(&source).map_err(Diagnostics)?;
    let mut model = read::model(&document, &source).map_err(Diagnostics)?;
    let simulation = &mut model.simulation;
    simulation.seed = overrides.seed.unwrap_or(simulation.seed);
    simulation.until = overrides.until.or(simulation.until);
    let default_phys = effective::fill(&mut model, file);
    let scenario = check::check(model, check::Context::new(source, &document, files))?;
    Ok(Scenario { default_phys, ..scenario })
}
