"""What measurements mean: who held whom back, what was lost where, and how far from fair a run was."""
