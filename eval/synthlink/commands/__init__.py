"""Commands that run and score SynthLink."""
