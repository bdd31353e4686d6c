"""The face of Epoché: public names and the command line."""
