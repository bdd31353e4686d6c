"""What systems see of a question and what they return."""
