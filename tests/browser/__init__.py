"""Pages in a real browser; skipped where none is installed (make browser runs them)."""
