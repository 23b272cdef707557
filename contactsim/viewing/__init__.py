"""Pictures of runs and live sessions; the viewers themselves are plugins."""
