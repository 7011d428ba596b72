"""Files for those who run jobs on the fabric: schedulers, launchers, collective libraries, and its acceptance test."""
