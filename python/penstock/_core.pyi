"""The simulation engine, written in Rust. Texts that end in JSON or TOML are documents, not messages."""

from collections.abc import Callable

class ScenarioError(ValueError):
    """A scenario that cannot be run; its text is what a person should read."""

    diagnostics: str
    """JSON list of objects with ``file``, ``line``, ``column``, ``message`` and ``help``."""

class SimulationError(RuntimeError):
    """A run that broke one of its invariants, such as a lost frame in a lossless class."""

class Result:
    """What one run measured."""

    @property
    def run(self) -> str: ...
    @property
    def scenario_toml(self) -> str: ...
    @property
    def topology(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...

class Table:
    """One table of a result, handed over without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def engine_version() -> str: ...
def check(text: str, file: str) -> str: ...
def warnings(text: str, file: str) -> list[str]: ...
def identity(text: str, file: str, *, seed: int | None = None) -> str: ...
def effective_json(text: str, file: str) -> str: ...
def run(
    text: str,
    file: str,
    *,
    seed: int | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Callable[[str], bool] | None = None,
) -> Result: ...
def memory_limit(text: str, file: str) -> int | None: ...
def estimate(text: str, file: str, *, threads: int | None = None) -> str: ...
def json_schema() -> str: ...
def mechanisms() -> str: ...
def guarantees(text: str, file: str) -> str: ...
def awc_weights(
    frames: list[list[int]],
    bytes: list[list[int]],
    *,
    formula: str,
    mix: str,
    top_bin: str,
    representative: str,
    metric: str,
    largest: int,
) -> list[float | None]: ...
def awc_learn(
    counters: list[tuple[int, int, float, bool]], *, metric: str, per_frame: float | None
) -> tuple[list[float | None], float | None]: ...
def headroom(
    rate: str,
    *,
    length: str | None = None,
    delay: str | None = None,
    mtu: str | None = None,
    phy: str | None = None,
    interface_delay: str | None = None,
    response_time: str | None = None,
    latency: str | None = None,
    overhead: str | None = None,
) -> str: ...
