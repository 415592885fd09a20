"""A catalogue of bugs that broke privacy, each beside its fixed twin, and the audit that catches it."""
