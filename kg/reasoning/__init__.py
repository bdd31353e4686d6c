"""OWL 2 RL and RDFS entailment over the integer index; ``kg.entailment`` is the way in."""
