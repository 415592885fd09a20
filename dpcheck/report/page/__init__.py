"""What the self-contained pages are made of: templates, formulas, drawings, evidence in steps."""
