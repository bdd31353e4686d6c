"""SynthLink: multi-hop questions, systems that answer them, and scores of the answers."""
