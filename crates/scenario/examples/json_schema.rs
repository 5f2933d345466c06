//! Prints the JSON Schema of scenarios: `make docs` writes it to `crates/scenario/src/scenario.schema.json`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{}", scenario::json_schema())
}
