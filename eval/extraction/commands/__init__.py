"""Commands that check data, configurations and servers without a run."""
