"""Making a decision true: waiting at Permit, then the binding points."""
