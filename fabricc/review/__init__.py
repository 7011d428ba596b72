"""Output for people: two fabrics compared, values traced to their rules, a plan on one page."""
