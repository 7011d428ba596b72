"""What EOS, NX-OS and their kin have in common: blocks by indentation, prefix lists, route maps, community lists."""
