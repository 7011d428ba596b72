"""What EOS, NX-OS and their kin say alike: the order of names, prefix lists, community lists, route maps."""
