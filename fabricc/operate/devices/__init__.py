"""Live switches: their names, logins and running configurations, which the back ends read into facts."""
