"""What a change does to everything that can be measured here: two versions, the same questions, paired differences."""
