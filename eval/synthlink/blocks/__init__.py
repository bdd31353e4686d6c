"""What a folder of SynthLink scores shows."""
