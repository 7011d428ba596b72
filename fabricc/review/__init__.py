"""What people read: two fabrics compared, values traced to their rules, a plan on one page."""
