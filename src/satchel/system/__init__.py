"""What touches the machine: files, git, locations, state files and telemetry."""
