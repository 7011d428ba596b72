"""The lab: the compiled fabric running for real, in network namespaces with FRR, and tested."""
