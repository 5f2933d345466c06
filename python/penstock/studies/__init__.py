"""Published experiments, rerun: one folder per paper and part, and the code that runs and judges them."""
