"""Write a spec, a lock and tables that build an existing fabric: nothing is renamed or renumbered."""
