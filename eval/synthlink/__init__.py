"""SynthLink: multi-hop questions, and scores of their answers that mean something."""
