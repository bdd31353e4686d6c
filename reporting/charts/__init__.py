"""Charts as pictures: pure geometry in, shapes with words out; no plotting library."""
