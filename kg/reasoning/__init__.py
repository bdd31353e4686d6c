"""OWL 2 RL and RDFS entailment over the triple index; ``kg.entailment`` is the public interface."""
