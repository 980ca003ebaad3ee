"""Gates, tariffs and the ledger of a toll road."""
