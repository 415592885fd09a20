"""Training steps of other libraries, described for ``dpcheck.audit_training_step``; each imports its own library."""
