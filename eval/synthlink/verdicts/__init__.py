"""What a judge said of claims, what that makes of scores, and how far it is to be trusted."""
