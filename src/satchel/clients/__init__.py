"""Setting satchel up in the programs that use it: their files, edited so that everything else is unchanged."""
