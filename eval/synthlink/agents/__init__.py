"""Systems that answer SynthLink's questions in up to five rounds: search, read, link, answer."""
