"""Systems that answer SynthLink's questions: search, read, link, answer, at most five times."""
