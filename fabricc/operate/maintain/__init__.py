"""Plan maintenance of devices and links: affected hosts, remaining capacity, and the steps to start and end it."""
