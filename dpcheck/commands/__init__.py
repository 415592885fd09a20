"""The commands of ``dpcheck``, those of one subject a file: their help, options, and what they run; no mathematics."""
