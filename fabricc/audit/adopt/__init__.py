"""From a fabric that is there to a spec, a lock and tables that build it: nothing is renamed or renumbered."""
