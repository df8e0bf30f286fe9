"""Programs with one trap each, by subject, and clean ones; ``#!`` marks the line at fault."""
