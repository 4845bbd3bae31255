"""The search for the scenario that explains a real incident, from its logs."""
