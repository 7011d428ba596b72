"""Tables for people who build a fabric: the plan, cables, racks, labels, the bill of materials and its price."""
