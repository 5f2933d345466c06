"""Questions over many runs: sweeps of a scenario's keys, and what their results say together."""
