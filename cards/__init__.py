"""Makes, reads and audits context cards; the generator proves each label."""
