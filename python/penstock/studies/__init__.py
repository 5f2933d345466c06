"""Published experiments, run again: one folder a paper and part, and the code that runs and judges them."""
