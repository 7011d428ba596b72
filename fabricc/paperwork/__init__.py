"""What people build a fabric with: tables of the plan, cables, racks, labels, the bill of materials and its price."""
