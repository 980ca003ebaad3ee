"""What `Satchel` delegates to: one class for each subject, and the opened root that they share."""
